package session

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/memory"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/server/metadata"
)

var update = flag.Bool("update", false, "write the golden files anew")

// exchange is a recorded command and its reply.
type exchange struct {
	Conn    int    `json:"conn"`
	Command string `json:"command"`
	SQL     string `json:"sql"`
	Reply   struct {
		Columns json.RawMessage `json:"columns"`
		Rows    int             `json:"rows"`
		Error   int             `json:"error"`
		Params  *int            `json:"params"`
	} `json:"reply"`
}

// names are the column names of a reply with rows.
func (e exchange) names() []string {
	var cols [][]string
	if json.Unmarshal(e.Reply.Columns, &cols) != nil {
		return nil
	}
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c[0]
	}
	return out
}

// clientShop is the database that the recorded clients read. Its view is a
// table here, of the same columns and rows.
func clientShop(t *testing.T) *memory.Catalog {
	t.Helper()
	c := memory.NewCatalog(nil, "shop", "test")
	make := func(name, spec string, keys []string, rows ...[]any) {
		fields := metadata.ParseFields(spec)
		s := metadata.SchemaOf(fields, "")
		for i, f := range fields {
			if cc := metadata.ParseColumnType(f.MySQL, ""); cc.CharLength >= 0 {
				s.Options[catalog.MySQLTypeOption(i)] = f.MySQL + " collate utf8mb4_0900_ai_ci"
			}
		}
		s.PrimaryKeys = keys
		table, err := c.CreateTable(t.Context(), catalog.Identifier{Database: "shop", Table: name}, s, false)
		if err != nil {
			t.Fatal(err)
		}
		b := &vector.Batch{Seq: -1}
		for _, f := range s.Fields {
			b.Cols = append(b.Cols, f.Type.NewVec(len(rows)))
		}
		for _, r := range rows {
			for i, x := range r {
				put(b.Cols[i], s.Fields[i].Type, x)
			}
			b.Len++
		}
		write(t, table, b)
	}
	make("customers", "id|int!; name|varchar(60)!; email|varchar(100); city|varchar(40); joined|date; credit|decimal(12,2); active|tinyint(1)", []string{"id"},
		[]any{1, "Ada", "ada@example.org", "London", "2019-03-01", "1000.50", 1},
		[]any{2, "Björn", nil, "Malmö", "2020-02-29", nil, 0},
		[]any{3, "陈", "chen@example.org", "上海", "2021-12-31", "-3.25", 1})
	make("orders", "order_id|bigint!; customer_id|int!; status|varchar(10); amount|decimal(10,2); qty|smallint; weight|double; ratio|float; note|text; "+
		"ordered_at|datetime!; shipped|datetime(6); day|date", []string{"order_id"},
		[]any{1, 1, "paid", "10.00", 1, 0.5, 0.25, "first", "2024-01-01 10:00:00", "2024-01-02 11:00:00.123456", "2024-01-01"},
		[]any{2, 1, "paid", "20.25", 2, 1.5, 0.5, nil, "2024-01-15 23:59:59", nil, "2024-01-15"},
		[]any{3, 2, "open", "5.75", 3, 2.5, 0.75, "emoji 😀", "2024-02-29 00:00:00", "2024-03-01 00:00:00.000001", "2024-02-29"},
		[]any{4, 3, "open", "100.00", 10, nil, nil, `quote ' and "`, "2024-03-31 12:34:56", nil, "2024-03-31"},
		[]any{5, 3, "lost", nil, nil, 1e10, 1.0, "", "2024-12-31 18:00:00", nil, "2024-12-31"})
	make("paid_orders", "order_id|bigint!; customer_id|int!; amount|decimal(10,2)", nil, []any{1, 1, "10.00"}, []any{2, 1, "20.25"})
	return c
}

// put appends a value to a vector of a stored type.
func put(v *vector.Vec, typ catalog.Type, x any) {
	switch x := x.(type) {
	case nil:
		v.AppendNull()
	case float64:
		v.AppendF64(x)
	case int:
		if v.Kind == vector.I32 {
			v.AppendI32(int32(x))
		} else {
			v.AppendI64(int64(x))
		}
	case string:
		switch typ.Kind {
		case catalog.Date:
			d, _ := time.Parse("2006-01-02", x)
			v.AppendI32(int32(d.Unix() / 86400))
		case catalog.Timestamp:
			d, _ := time.Parse("2006-01-02 15:04:05", x)
			v.AppendI64(d.UnixMicro())
		case catalog.Decimal:
			n, _, _ := vector.ParseDecimal(x, typ.Scale)
			v.AppendDecimal(n)
		default:
			v.AppendString(x)
		}
	}
}

// recording returns the exchanges of a file.
func recording(t *testing.T, file string) []exchange {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []exchange
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var e exchange
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// everything is a server on which t may do everything.
type everything struct{ metadata.RootOnly }

func (everything) Grants(metadata.Identity) ([]string, error) {
	return []string{"GRANT ALL PRIVILEGES ON *.* TO `t`@`%` WITH GRANT OPTION", "GRANT `r`@`%` TO `t`@`%`"}, nil
}

func (everything) List() []metadata.AccountInfo {
	return []metadata.AccountInfo{{Account: metadata.Account{Identity: metadata.Identity{User: "t", Host: "%"}}, Global: metadata.AllPrivileges | metadata.GrantOption}}
}

// outcome of a replayed statement: "" when it is as recorded.
func replay(ctx context.Context, s *Session, e exchange, sameShape bool) string {
	if e.Command == "STMT_PREPARE" {
		p, err := s.Prepare(ctx, e.SQL)
		switch {
		case err != nil && e.Reply.Error == 0:
			return refused(err)
		case err == nil && e.Reply.Error != 0:
			return "answered"
		case err == nil && e.Reply.Params != nil && p.Params != *e.Reply.Params:
			return fmt.Sprintf("%d parameters, recorded %d", p.Params, *e.Reply.Params)
		}
		return ""
	}
	res, err := s.Execute(ctx, e.SQL, nil)
	if err != nil {
		if e.Reply.Error != 0 {
			return ""
		}
		return refused(err)
	}
	defer res.Close()
	n := 0
	if res.Rows != nil {
		for {
			b, err := res.Rows.Next(ctx)
			if err != nil {
				return refused(err)
			}
			if b == nil {
				break
			}
			n += b.Rows()
		}
	}
	if e.Reply.Error != 0 {
		return fmt.Sprintf("answered with %d rows, recorded error %d", n, e.Reply.Error)
	}
	names := e.names()
	if !sameShape {
		if (names == nil) != (len(res.Columns) == 0) {
			return fmt.Sprintf("%d columns, recorded %d", len(res.Columns), len(names))
		}
		return ""
	}
	if names == nil {
		if len(res.Columns) > 0 {
			return "rows where none were recorded"
		}
		return ""
	}
	var got []string
	for _, c := range res.Columns {
		got = append(got, c.Name)
	}
	if !slices.Equal(got, names) {
		return fmt.Sprintf("columns %q, recorded %q", got, names)
	}
	if n != e.Reply.Rows {
		return fmt.Sprintf("%d rows, recorded %d", n, e.Reply.Rows)
	}
	return ""
}

func refused(err error) string {
	switch {
	case errs.ClassOf(err) == errs.Internal:
		return fmt.Sprintf("INTERNAL: %v", err)
	case errs.Is(err, errs.NotSupported):
		return "refused by name"
	}
	return fmt.Sprintf("refused: %v", err)
}

// Every statement of every recorded client gets the recorded shape of answer,
// or its outcome is on the golden list: refusals by name, and lists about the
// server itself, which differ by design.
func TestReplayClients(t *testing.T) {
	dir := testkit.Shared(t, "fixtures/client-traffic")
	// Recorded against MySQL, so the numbers of rows are comparable; the
	// answers to the same clients believing in MySQL 8.0 were MariaDB's.
	outcomes := map[string]string{}
	for _, sub := range []string{"as-mysql8", "mysql97"} {
		files, err := filepath.Glob(filepath.Join(dir, sub, "*.jsonl"))
		if err != nil || len(files) == 0 {
			t.Fatal("no recordings")
		}
		for _, file := range files {
			c := clientShop(t)
			srv := server(t, func(cfg *Config) {
				cfg.Catalogs, cfg.Accounts = []NamedCatalog{{Name: "lake", Catalog: c}}, everything{}
			})
			sessions := map[int]*Session{}
			for _, e := range recording(t, file) {
				s := sessions[e.Conn]
				if s == nil {
					s = session(t, srv, OpenOptions{Database: "shop", User: "t", Address: "127.0.0.1:1", Account: metadata.Account{
						Identity: metadata.Identity{User: "t", Host: "%"}, Super: true}})
					sessions[e.Conn] = s
				}
				switch e.Command {
				case "INIT_DB":
					_ = s.Use(t.Context(), e.SQL)
				case "RESET_CONNECTION", "CHANGE_USER":
					_ = s.Reset(t.Context())
				case "QUERY", "STMT_PREPARE":
					if strings.Contains(e.SQL, "tpcds") || strings.Contains(e.SQL, "tpch") || strings.Contains(e.SQL, "slt_") ||
						strings.Contains(e.SQL, "fuzz_") || strings.Contains(e.SQL, "hits") || strings.Contains(e.SQL, "mysql_semantics") {
						continue // about other databases of the recorded server
					}
					if len(s.Split(e.SQL)) > 1 {
						continue // several results: the port's to tell apart
					}
					what := replay(t.Context(), s, e, sub == "mysql97")
					key := strings.Join(strings.Fields(e.SQL), " ")
					if len(key) > 300 {
						key = key[:300]
					}
					if what != "" && outcomes[key] == "" {
						outcomes[key] = what
					}
				}
			}
			for _, s := range sessions {
				s.Close()
			}
		}
	}
	var lines []string
	for k, v := range outcomes {
		lines = append(lines, k+" ⇒ "+strings.ReplaceAll(v, "\n", " "))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	golden := filepath.Join("testdata", "replay.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		have := map[string]bool{}
		for _, l := range strings.Split(string(want), "\n") {
			have[l] = true
		}
		for _, l := range strings.Split(got, "\n") {
			if !have[l] {
				t.Errorf("not on the golden list (-update writes it anew): %s", l)
			}
			delete(have, l)
		}
		for l := range have {
			t.Logf("on the golden list only, write it anew by -update: %s", l)
		}
	}
}
