package session

import (
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// TestFoundRows: SQL_CALC_FOUND_ROWS and FOUND_ROWS(), with the answers of MySQL
// 9.7.
func TestFoundRows(t *testing.T) {
	s := session(t, server(t), OpenOptions{Database: "shop"})
	for _, q := range []string{"create table t (id int primary key)", "insert into t values (1),(2),(3),(4),(5)"} {
		if _, err := s.Execute(t.Context(), q, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][3]string{
		{`select sql_calc_found_rows id from t order by id limit 2`, `1; 2`, `5`},
		{`select sql_calc_found_rows id from t where id > 1 order by id limit 1 offset 2`, `4`, `4`},
		{`select sql_calc_found_rows id from t limit 0`, ``, `5`},
		{`select sql_calc_found_rows id from t order by id`, `1; 2; 3; 4; 5`, `5`},
		{`select id from t order by id limit 2`, `1; 2`, `2`},
		{`(select sql_calc_found_rows id from t) union all (select id from t) limit 3`, `1; 2; 3`, `10`},
		{`select sql_calc_found_rows id from t order by id limit 2, 10`, `3; 4; 5`, `5`},
	} {
		got, err := rows(t.Context(), s, c[0])
		if err != nil || strings.Join(got, "; ") != c[1] {
			t.Errorf("%s\n got %s (%v)\nwant %s", c[0], strings.Join(got, "; "), err, c[1])
		}
		if got, err := rows(t.Context(), s, "select found_rows()"); err != nil || strings.Join(got, "; ") != c[2] {
			t.Errorf("%s found %s rows (%v), want %s", c[0], strings.Join(got, "; "), err, c[2])
		}
	}
	if _, err := s.Execute(t.Context(), "select * from (select sql_calc_found_rows id from t limit 1) q", nil); !errs.Is(err, errs.OptionMisplaced) {
		t.Error(err)
	}
	if _, err := s.Prepare(t.Context(), "select sql_calc_found_rows id from t limit ?"); err != nil {
		t.Error(err)
	}
}
