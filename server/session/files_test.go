package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/files"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/metadata"
)

func withFiles(roots ...string) func(*Config) {
	return func(c *Config) {
		c.Files = &files.Store{Files: fileio.Local{}, Formats: format.NewRegistry(parquet.Format{})}
		c.FileRoots, c.AnyFile = roots, roots == nil
	}
}

// TestIntoOutfile: files that MySQL 9.7 wrote for the same statements.
func TestIntoOutfile(t *testing.T) {
	s := session(t, server(t, withFiles()), OpenOptions{})
	const rowsOf = "(select 1 a, 'x' b, cast(1.5 as decimal(4,2)) c, date'2026-01-02' d, null e union all select -2, 'a\\tb\\\\c\"d,e\\nf', null, null, 'n;N' union all select 3, concat('z',char(0),'t;'), 0, null, '') q"
	for i, c := range [][2]string{
		{``, "1\tx\t1.50\t2026-01-02\t\\N\n-2\ta\\\tb\\\\c\"d,e\\\nf\t\\N\t\\N\tn;N\n3\tz\\0t;\t0.00\t\\N\t\n"},
		{`fields terminated by ',' enclosed by '"'`, "\"1\",\"x\",\"1.50\",\"2026-01-02\",\\N\n\"-2\",\"a\tb\\\\c\\\"d,e\\\nf\",\\N,\\N,\"n;N\"\n\"3\",\"z\\0t;\",\"0.00\",\\N,\"\"\n"},
		{`fields terminated by ',' optionally enclosed by '"' lines terminated by '\r\n'`, "1,\"x\",1.50,\"2026-01-02\",\\N\r\n-2,\"a\tb\\\\c\\\"d,e\nf\",\\N,\\N,\"n;N\"\r\n3,\"z\\0t;\",0.00,\\N,\"\"\r\n"},
		{`fields terminated by ';' escaped by ''`, "1;x;1.50;2026-01-02;NULL\n-2;a\tb\\c\"d,e\nf;NULL;NULL;n;N\n3;z\u0000t;;0.00;NULL;\n"},
		{`fields terminated by ',' enclosed by '"' escaped by ''`, "\"1\",\"x\",\"1.50\",\"2026-01-02\",NULL\n\"-2\",\"a\tb\\c\"d,e\nf\",NULL,NULL,\"n;N\"\n\"3\",\"z\u0000t;\",\"0.00\",NULL,\"\"\n"},
		{`fields terminated by '||' escaped by '#' lines starting by '> ' terminated by ';\n'`, "> 1||x||1.50||2026-01-02||#N;\n> -2||a\tb\\c\"d,e\nf||#N||#N||n#;N;\n> 3||z#0t#;||0.00||#N||;\n"},
		{`fields terminated by 'n' enclosed by 't'`, "t1tntxtnt1.50tnt2026-01-02tn\\N\nt-2tnta\tb\\\\c\"d,e\\\nftn\\Nn\\Nntn;Nt\nt3tntz\\0tt;tnt0.00tn\\Nntt\n"},
		{`fields terminated by ',' enclosed by '"' escaped by '"'`, "\"1\",\"x\",\"1.50\",\"2026-01-02\",\"N\n\"-2\",\"a\tb\\c\"\"d,e\"\nf\",\"N,\"N,\"n;N\"\n\"3\",\"z\"0t;\",\"0.00\",\"N,\"\"\n"},
	} {
		name := filepath.Join(t.TempDir(), "out")
		res, err := s.Execute(t.Context(), "select * from "+rowsOf+" into outfile '"+name+"' character set utf8mb4 "+c[0], nil)
		if err != nil {
			t.Fatal(c[0], err)
		}
		if res.Affected != 3 || res.Rows != nil {
			t.Errorf("%d rows affected, want 3", res.Affected)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != c[1] {
			t.Errorf("%d: %s\n got %q\nwant %q", i, c[0], b, c[1])
		}
		if _, err := s.Execute(t.Context(), "select 1 into outfile '"+name+"'", nil); !errs.Is(err, errs.FileExists) {
			t.Errorf("a second time: %v", err)
		}
	}
	name := filepath.Join(t.TempDir(), "dump")
	if _, err := s.Execute(t.Context(), "select 'a\\tb', 1, null into dumpfile '"+name+"'", nil); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(name); string(b) != "a\tb1" {
		t.Errorf("dumped %q", b)
	}
	other := filepath.Join(t.TempDir(), "other")
	for q, k := range map[string]errs.Kind{
		"select 1 union select 2 into dumpfile '" + other + "'":                        errs.TooManyRows,
		"select 1 into outfile '" + other + "' fields enclosed by 'ab'":                errs.WrongFileFormat,
		"select 1 into outfile '" + other + "' character set latin1":                   errs.NotSupported,
		"select 1 into outfile '" + other + "' fields terminated by '' enclosed by ''": errs.NotSupported,
		"select * from (select 1 into outfile '" + other + "') q":                      errs.Syntax,
		"select no from shop.orders into outfile '" + other + "'":                      errs.UnknownColumn,
	} {
		if _, err := s.Execute(t.Context(), q, nil); !errs.Is(err, k) {
			t.Errorf("%s: %v, want %s", q, err, k)
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a failed statement left its file")
	}
}

// TestIntoVariables: SELECT … INTO @a, as MySQL does.
func TestIntoVariables(t *testing.T) {
	s := session(t, server(t), OpenOptions{})
	ok := func(q, want string) {
		t.Helper()
		got, err := rows(t.Context(), s, q)
		if err != nil || strings.Join(got, "; ") != want {
			t.Errorf("%s\n got %s (%v)\nwant %s", q, strings.Join(got, "; "), err, want)
		}
	}
	res, err := s.Execute(t.Context(), "select order_id, region into @id, @r from shop.orders where region = 'EU'", nil)
	if err != nil || res.Affected != 1 {
		t.Fatal(res, err)
	}
	ok("select @id, @r, @id + 1", "1002|EU|1003")
	ok("select max(amount), count(*) from shop.orders into @m, @n", "")
	ok("select @m, @n", "22.5|3")
	ok("select order_id from shop.orders where false into @id", "")
	ok("show warnings", "Warning|1105|No data - zero rows fetched, selected, or processed")
	ok("select @id", "1002")
	for q, k := range map[string]errs.Kind{
		"select order_id from shop.orders into @id":    errs.TooManyRows,
		"select order_id, 1 from shop.orders into @id": errs.SetOpColumns,
		"select 1 into local_var":                      errs.Syntax,
	} {
		if _, err := s.Execute(t.Context(), q, nil); !errs.Is(err, k) {
			t.Errorf("%s: %v, want %s", q, err, k)
		}
	}
	p, err := s.Prepare(t.Context(), "select order_id from shop.orders where region = ? into @p")
	if err != nil || len(p.Columns) != 0 || p.Params != 1 {
		t.Fatal(p, err)
	}
}

// TestFilePrivilege: over the network files need the privilege and a root.
func TestFilePrivilege(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	for _, d := range []string{root, elsewhere} {
		if err := os.WriteFile(filepath.Join(d, "a.csv"), []byte("a,b\n1,x\n2,\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	srv := server(t, withFiles(root))
	super := session(t, srv, OpenOptions{})
	got, err := rows(t.Context(), super, "select * from read_csv('"+root+"/*.csv') f")
	if err != nil || strings.Join(got, "; ") != "1|x; 2|NULL" {
		t.Error(got, err)
	}
	for _, p := range []string{elsewhere + "/a.csv", root + "/../a.csv", "a.csv", root, "s3://bucket/a.csv", root + "x/a.csv"} {
		for _, q := range []string{"select * from read_csv('" + p + "') f", "select 1 into outfile '" + p + "'"} {
			if _, err := super.Execute(t.Context(), q, nil); !errs.Is(err, errs.FilesOutside) {
				t.Errorf("%s: %v", q, err)
			}
		}
	}
	plain := session(t, srv, OpenOptions{Account: metadata.Account{Identity: metadata.Identity{User: "joe", Host: "%"}}})
	for _, q := range []string{"select * from read_csv('" + root + "/a.csv') f", "select 1 into outfile '" + root + "/out'"} {
		if _, err := plain.Execute(t.Context(), q, nil); !errs.Is(err, errs.PrivilegeNeeded) {
			t.Errorf("%s: %v", q, err)
		}
	}
}
