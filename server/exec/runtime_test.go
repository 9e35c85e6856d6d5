package exec_test

import "testing"

// TestRuntimeFilters: what joins and top-Ns tell the scans below changes no answer:
// all settings agree, those without pruning among them, and rows are found (keys
// of several types and widths, NULLs, negative and far apart numbers, filters
// through other joins, both directions of an order).
func TestRuntimeFilters(t *testing.T) {
	e := newEngine()
	numbers(t, e, 6000)
	e.must(t, `create table d (k int, w bigint, u int unsigned, p decimal(10,2), day date, name varchar(10));
insert into d values (7,7,7,7.00,'2026-01-07','seven'),(-3,-3,3,-3.00,'2026-01-03','minus'),(NULL,NULL,NULL,NULL,NULL,'null'),(93,93,93,93.00,'2026-04-03','93'),
(93,9000000000,4000000000,93.50,'1969-12-31','far'),(11,11,11,11.10,'2026-01-11','eleven');
create table e (k int, p decimal(10,2), day date);
insert into e select k, k, date_add('2026-01-01', interval k - 1 day) from n;
insert into e values (NULL, NULL, NULL)`)
	for q, some := range map[string]bool{
		"select count(*), sum(n.i) from n join d on n.k = d.k where d.name <> 'x'":                                                                        true,
		"select count(*), sum(n.i) from n join d on n.k = d.w where d.name <> 'x'":                                                                        true,
		"select count(*), sum(n.i) from n join d on n.k = d.u where d.name <> 'x'":                                                                        true,
		"select count(*) from e join d on e.p = d.p where d.name <> 'x'":                                                                                  true,
		"select count(*) from e join d on e.day = d.day where d.name <> 'x'":                                                                              true,
		"select count(*) from n join d on n.k <=> d.k where d.name <> 'x'":                                                                                true,
		"select n.i from n join d on n.k = d.k join e on e.k = n.i where d.name in ('seven','93') and e.day < '2026-03-01' order by 1 limit 5":            true,
		"select count(*) from n where k in (select k from d where name like '%e%')":                                                                       true,
		"select count(*) from d where exists (select * from n where n.k = d.k and n.i > 100)":                                                             true,
		"select count(*) from d where not exists (select * from n where n.k = d.k and n.i > 100)":                                                         true,
		"select count(*) from d where w not in (select k from n where k > 10)":                                                                            true,
		"select d.name, count(n.i) from d left join n on n.k = d.k and n.i > 5000 group by d.name order by 1":                                             true,
		"select d.name, x.c from d left join (select k, count(*) c from n group by k) x on x.k = d.k order by 1, 2":                                       true,
		"select d.name, x.c, x.s from d join (select k, count(*) c, sum(i) s from n group by k) x on x.k = d.k where d.name <> 'x' order by 1":            true,
		"select d.name, x.c, x.s from d join (select k, count(*) c, sum(i) s from n group by k) x on x.k <=> d.k where d.name <> 'x' order by 1":          true,
		"select d.name, x.c from d join (select k, count(*) c from n group by k) x on x.k <=> d.k where d.k > 0 order by 1":                               true,
		"select d.name, x.c from d join (select k, i % 3 m, count(*) c from n group by k, i % 3) x on x.k = d.u and x.m = 1 order by 1":                   true,
		"select d.name, x.c from d join (select k + 1 k, count(*) c from n group by k + 1) x on x.k = d.k order by 1":                                     true,
		"select d.name, x.c from d join (select k, count(*) c from n group by k having max(i) > 50) x on x.k = d.k order by 1":                            true,
		"select d.name, x.c from d join (select k, count(*) c from n group by k with rollup) x on x.k <=> d.k where d.name <> 'x' order by 1, 2":          true,
		"select d.name from d where d.p < (select avg(i) from n where n.k = d.k) order by 1":                                                              true,
		"select d.name from d where (select count(*) from n where n.k <=> d.k) > 5 order by 1":                                                            true,
		"select d.name from d where exists (select k from n group by k having k = d.k and count(*) > 10) order by 1":                                      true,
		"select d.name, y.c from d join (select k, count(*) c from (select distinct k, i from n) z group by k) y on y.k = d.k where d.w < 100 order by 1": true,
		"select d.name, n.i from n right join d on n.k = d.k and n.i < 300 order by 1, 2":                                                                 true,
		"select i, k from n order by k desc, i limit 7":                                                                                                   true,
		"select i, k from n order by k, i desc limit 5 offset 3":                                                                                          true,
		"select k from e order by k limit 3":                                                           true,
		"select k from e order by k desc limit 3":                                                      true,
		"select day from e order by day desc limit 3":                                                  true,
		"select p from e where k > 3 order by p limit 3":                                               true,
		"select n.i, d.name from n left join d on d.k = n.k order by n.i desc limit 4":                 true,
		"select u from d order by u desc limit 2":                                                      true,
		"select i from (select i, k from n order by i limit 50) x where k = 7 order by i desc limit 3": true,
		"select count(*) from n join d on n.k = d.k where d.name = 'nobody'":                           true,
		"select i from n join d on n.k = d.k where d.name = 'null'":                                    false,
		// Keys that are equal to others below.
		"select count(*), sum(n.i) from n join e on n.k = e.k join d on d.k = n.k where d.name <> 'x'":                                                                   true,
		"select count(*), sum(n.i) from n join e on n.k = e.k join d on d.w = e.k where d.name <> 'x'":                                                                   true,
		"select count(*), count(e.day) from n left join e on e.k = n.k and e.day > '2026-01-08' join d on d.k = n.k where d.name <> 'x'":                                 true,
		"select count(*) from n join d on d.k = n.k where d.name <> 'x' and not exists (select * from e where e.k = n.k and e.day < '2026-02-01')":                       true,
		"select count(*) from n join d on d.k = n.k where d.name <> 'x' and exists (select * from e where e.k = n.k and e.day < '2026-02-01')":                           true,
		"select count(*) from (select n.k from n where n.k not in (select k from e)) x join d on d.k = x.k where d.name <> 'x'":                                          true,
		"select count(*) from (select n.k from n where n.k not in (select k from e where k > 50)) x join d on d.k = x.k where d.name <> 'x'":                             true,
		"select d.name, x.f from (select k, k in (select k from e where day > '2026-02-01') f from n group by k) x join d on d.k = x.k order by 1, 2":                    true,
		"select d.name, x.f from (select k, exists (select * from e where e.k = n.k and day > '2026-02-01') f from n) x join d on d.k = x.k group by 1, 2 order by 1, 2": true,
		"select d.name, e.day from e right join (select k, count(*) c from n group by k) x on e.k = x.k and e.day < '2026-02-01' join d on d.k = x.k order by 1, 2":      true,
		"select d.name, count(e.day) from n full join e on e.k = n.k join d on d.k = n.k group by 1 order by 1":                                                          true,
		"select d.name, count(*) from d join n on n.k = d.k join e on e.k <=> n.k join d c on c.k = e.k where c.name <> 'x' group by 1 order by 1":                       true,
		"select n.k, e.day from n join e on e.k = n.k order by e.k desc, n.i limit 3":                                                                                    true,
		"select d.name, y.c from (select e.k, count(*) c from n join e on e.k = n.k group by e.k) y join d on d.k = y.k where d.name <> 'x' order by 1, 2":               true,
	} {
		a, err := e.agree(t, q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		if (len(a.rows) > 0) != some {
			t.Errorf("%s: %d rows", q, len(a.rows))
		}
	}
	e.answers(t, [][2]string{
		{"select count(*) from n join d on n.k = d.k", "240"},
		{"select count(*) from d where exists (select * from n where n.k = d.k and n.i > 100)", "4"},
		{"select count(*) from d where not exists (select * from n where n.k = d.k and n.i > 100)", "2"},
		{"select i from n order by k desc, i desc limit 2", "5999; 5899"},
	})
}
