package session_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/mysql"
	"github.com/thermocline/thermocline/server/session"
)

// metaShop makes the database that MySQL's answers were recorded in, as far as a
// lake can have it; its views are tables.
func metaShop(t *testing.T) *memory.Catalog {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testkit.Shared(t, "fixtures/mysql-metadata"), "information_schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rec map[string]json.RawMessage
	if err := json.Unmarshal(b, &rec); err != nil {
		t.Fatal(err)
	}
	rowsOf := func(table string) [][]*string {
		var r struct {
			Rows [][]*string `json:"rows"`
		}
		if err := json.Unmarshal(rec[table], &r); err != nil {
			t.Fatal(err)
		}
		return r.Rows
	}
	at := func(r []*string, i int) string {
		if r[i] == nil {
			return ""
		}
		return *r[i]
	}
	keys := map[string][]string{}
	for _, r := range rowsOf("KEY_COLUMN_USAGE") {
		if at(r, 2) == "PRIMARY" {
			keys[at(r, 5)] = append(keys[at(r, 5)], at(r, 6))
		}
	}
	cols := rowsOf("COLUMNS")
	slices.SortStableFunc(cols, func(a, b []*string) int {
		var x, y int
		fmt.Sscan(at(a, 4), &x)
		fmt.Sscan(at(b, 4), &y)
		return x - y
	})
	c := memory.NewCatalog(nil, "meta_shop", "test")
	for _, tr := range rowsOf("TABLES") {
		if at(tr, 1) != "meta_shop" {
			continue
		}
		s := &catalog.Schema{Options: map[string]string{}, PrimaryKeys: keys[at(tr, 2)]}
		for _, r := range cols {
			if at(r, 2) != at(tr, 2) || at(r, 7) == "point" || at(r, 7) == "vector" {
				continue
			}
			f := metadata.NewField(at(r, 3), at(r, 15), at(r, 6) == "NO")
			id := len(s.Fields)
			field := catalog.Field{ID: id, Name: f.Name, Type: f.Stored}
			if r[5] != nil && at(r, 17) == "" {
				field.Default = r[5]
			}
			s.Fields = append(s.Fields, field)
			typ := at(r, 15)
			if r[14] != nil {
				typ += " collate " + at(r, 14)
			}
			s.Options[catalog.MySQLTypeOption(id)] = typ
			s.HighestFieldID = id
		}
		if _, err := c.CreateTable(t.Context(), catalog.Identifier{Database: "meta_shop", Table: at(tr, 2)}, s, false); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

var updateErrors = flag.Bool("update-errors", false, "write the golden file of errors anew")

// Errors are MySQL's: the number and the message of every recorded one, but for
// those on the golden list, each a refusal by name or a difference by design.
func TestErrorsAreMySQLs(t *testing.T) {
	c := metaShop(t)
	srv, err := session.NewServer(session.Config{Catalogs: []session.NamedCatalog{{Name: "lake", Catalog: c}}, ErrorCode: mysql.ErrorCode})
	if err != nil {
		t.Fatal(err)
	}
	open := func(db string) *session.Session {
		s, err := srv.Open(t.Context(), session.OpenOptions{Database: db})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	drain := func(s *session.Session, text string) error {
		res, err := s.Execute(t.Context(), text, nil)
		if err != nil {
			return err
		}
		defer res.Close()
		for res.Rows != nil {
			b, err := res.Rows.Next(t.Context())
			if b == nil || err != nil {
				return err
			}
		}
		return nil
	}
	with, without := open("meta_shop"), open("")
	for _, text := range []string{"INSERT INTO customers VALUES (1, 'Ada', 'ada@example.org', 'London', '2019-03-01', 1000.50, 1), (2, 'Björn', NULL, 'Malmö', '2020-02-29', NULL, 0)",
		"INSERT INTO types (id) VALUES (1)"} {
		if err := drain(with, text); err != nil {
			t.Logf("%s: %v", text, err)
		}
	}
	b, err := os.ReadFile(filepath.Join(testkit.Shared(t, "fixtures/mysql-metadata"), "errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded []struct {
		SQL        string `json:"sql"`
		NoDatabase bool   `json:"no_database"`
		Error      int    `json:"error"`
		Message    string `json:"message"`
	}
	if err := json.Unmarshal(b, &recorded); err != nil {
		t.Fatal(err)
	}
	var lines []string
	same := 0
	for _, r := range recorded {
		if r.SQL == "" {
			continue
		}
		s := with
		if r.NoDatabase {
			s = without
		}
		err := drain(s, r.SQL)
		code, message := 0, ""
		if err != nil {
			message = strings.ReplaceAll(err.Error(), "\n", " ")
			if code = mysql.ErrorCode(errs.KindOf(err)); code == 0 {
				code = 1105
			}
		}
		if errs.ClassOf(err) == errs.Internal && err != nil {
			t.Errorf("%s: %v", r.SQL, err)
		}
		if code == r.Error && (message == r.Message || code == 1064) {
			same++
			continue
		}
		if code == 1235 {
			message = "by name"
		}
		lines = append(lines, fmt.Sprintf("%s ⇒ %d %s | MySQL: %d %s", r.SQL, code, message, r.Error, r.Message))
	}
	t.Logf("%d of %d answers are MySQL's", same, same+len(lines))
	got := strings.Join(lines, "\n") + "\n"
	golden := filepath.Join("testdata", "errors.txt")
	if *updateErrors {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(string(want), "\n")
	for _, l := range lines {
		if !slices.Contains(known, l) {
			t.Errorf("not on the golden list: %s", l)
		}
	}
	for _, l := range known {
		if l != "" && !slices.Contains(lines, l) {
			t.Logf("on the golden list only, write it anew by -update-errors: %s", l)
		}
	}
}
