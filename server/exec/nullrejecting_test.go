package exec_test

import (
	"strings"
	"testing"
)

// An outer join whose NULLs a condition above rejects is an inner one, and no
// other: the same condition above a LIMIT, which lets nothing pass, keeps the same
// rows.
func TestNullRejecting(t *testing.T) {
	e := newEngine()
	e.must(t, `create table a (k int, v int, s varchar(5));
insert into a values (1,1,'x'),(2,NULL,NULL),(3,0,'z'),(4,5,'x'),(NULL,7,'y');
create table b (k int, w int, q varchar(5));
insert into b values (1,10,'x'),(3,NULL,NULL),(3,0,'z'),(9,1,'y'),(NULL,2,NULL)`)
	conds := []string{"b.w = 0", "b.w + 1 > 0", "0.5 * b.w < a.v", "-b.w <= 0", "b.w / 0 = 1", "b.w % 2 = 0", "b.w div 2 = 0", "not (b.w > 3)", "not (b.w is null)", "b.w is null", "not (b.w <=> 10)",
		"b.w between a.v and 20", "a.v between b.w and 20", "a.v not between b.w and 3", "not (a.v between b.w and 3)", "b.w in (1, 10, NULL)", "b.w not in (1, 2)", "a.v in (b.w, 1)", "b.q like '%x%'", "b.q not like 'x'",
		"a.s like b.q", "coalesce(b.w, 1) = 1", "ifnull(b.w, 0) + b.w > 0", "b.w > 0 or a.v > 0", "b.w > 0 or b.q = 'z'", "b.w > 0 and a.v > 0", "b.w is null or b.w > 1", "not (b.w > 0 or a.v > 3)",
		"not (b.w > 0 and a.v > 3)", "(b.w > 0) is null", "(b.w > 0) is not true", "b.w <=> NULL", "case when b.w is null then 1 else 0 end = 1", "concat(b.q, 'x') = 'xx'", "if(b.w, b.w, 1) > 0", "b.w and 1", "b.w or 1", "b.w xor 1",
		"greatest(b.w, 1) >= 1", "b.w = a.v or b.w is null and a.v = 1", "(b.w, b.q) = (0, 'z')", "b.w & 1 = 0", "b.w is not null", "nullif(b.w, 10) = 0"}
	names := strings.NewReplacer("a.", "x.", "b.", "x.")
	for _, join := range []string{"left", "right", "full"} {
		for _, c := range conds {
			below := "select a.k, a.v, a.s, b.k as bk, b.w, b.q from a " + join + " join b on a.k = b.k"
			plain, err := e.run(below + " where " + c + " order by 1, 2, 3, 4, 5, 6")
			if err != nil {
				t.Errorf("%s join, %s: %v", join, c, err)
				continue
			}
			kept, err := e.run("select x.* from (" + below + " limit 1000) x where " + names.Replace(c) + " order by 1, 2, 3, 4, 5, 6")
			if err != nil {
				t.Errorf("%s join, %s: %v", join, c, err)
				continue
			}
			if text(plain.rows) != text(kept.rows) {
				t.Errorf("%s join, %s:\n%s\nnot\n%s", join, c, text(plain.rows), text(kept.rows))
			}
		}
	}
}
