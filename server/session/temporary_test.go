package session

import (
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	tables "github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// TestTemporaryTables: temporary tables, with the answers of MySQL 9.7 where no
// comment says otherwise.
func TestTemporaryTables(t *testing.T) {
	budget := memory.New("queries", 1<<20)
	srv := server(t, func(c *Config) {
		c.Memory = budget
		c.Temporary = func(pays *memory.Budget) catalog.Writable { return tables.NewCatalog(pays) }
	})
	s := session(t, srv, OpenOptions{Database: "shop"})
	for _, q := range []string{"create table r (id int primary key, v varchar(10))", "insert into r values (1,'real')"} {
		if _, err := s.Execute(t.Context(), q, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		q, want string
		kind    errs.Kind
	}{
		{`create temporary table r (id int primary key, v varchar(10))`, "", errs.KindNone},
		{`select * from r`, "", errs.KindNone},
		{`insert into r values (7,'temp'),(8,'x')`, "", errs.KindNone},
		{`update r set v = 'y' where id = 8`, "", errs.KindNone},
		{`delete from r where id = 7`, "", errs.KindNone},
		{`select * from shop.r`, "8|y", errs.KindNone},
		{`select a.id, b.v from r a join (select * from r) b on a.id = b.id`, "8|y", errs.KindNone}, // MySQL reads a temporary table once a statement (1137)
		{`create temporary table r (id int)`, "", errs.TableExists},
		{`create temporary table if not exists r (id int)`, "", errs.KindNone},
		{`create temporary table c as select id + 1 as i, v from r`, "", errs.KindNone},
		{`select * from c`, "9|y", errs.KindNone},
		{`create temporary table l like c`, "", errs.KindNone},
		{`select * from l`, "", errs.KindNone},
		{`drop temporary table l`, "", errs.KindNone},
		{`drop temporary table l`, "", errs.DropTableMissing},
		{`drop table r`, "", errs.KindNone},
		{`select * from r`, "1|real", errs.KindNone},
		{`drop temporary table r`, "", errs.DropTableMissing},
		{`drop temporary table if exists r`, "", errs.KindNone},
		{`truncate table c`, "", errs.KindNone},
		{`select count(*) from c`, "0", errs.KindNone},
		{`create temporary table nodb.x (a int)`, "", errs.UnknownDatabase},
		{`alter table c add column z int`, "", errs.NotSupported}, // MySQL does
		{`show tables`, "orders; r", errs.KindNone},
		{`drop table c`, "", errs.KindNone},
		{`select * from c`, "", errs.UnknownTable},
		{`start transaction with consistent snapshot`, "", errs.KindNone},
		{`create temporary table n (i int) `, "", errs.KindNone},
		{`insert into n values (1)`, "", errs.KindNone},
		{`select * from n`, "1", errs.KindNone},
		{`describe n`, "i|int|YES||NULL|", errs.KindNone},
		{`rename table n to m`, "", errs.NotSupported},
	} {
		got, err := rows(t.Context(), s, c.q)
		if errs.KindOf(err) != c.kind && (err != nil || c.kind != errs.KindNone) || strings.Join(got, "; ") != c.want {
			t.Errorf("%s\n got %s (%v)\nwant %s %s", c.q, strings.Join(got, "; "), err, c.want, c.kind)
		}
	}
	other := session(t, srv, OpenOptions{Database: "shop"})
	if _, err := other.Execute(t.Context(), "select * from n", nil); !errs.Is(err, errs.UnknownTable) {
		t.Errorf("another session sees it: %v", err)
	}
	if budget.Used() == 0 {
		t.Error("the rows of temporary tables are not reserved")
	}
	if _, err := s.Execute(t.Context(), "create temporary table big as select repeat('x', 1000000) a union all select repeat('y', 1000000)", nil); errs.ClassOf(err) != errs.Resource {
		t.Errorf("beyond the budget: %v", err)
	}
	if err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes are reserved after the session's tables are gone", n)
	}
	if _, err := rows(t.Context(), s, "select * from shop.n"); !errs.Is(err, errs.UnknownTable) {
		t.Errorf("a temporary table outlives a reset: %v", err)
	}
}
