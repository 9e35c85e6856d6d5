package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/ingest"
	"github.com/thermocline/thermocline/ingest/pipeline"
	"github.com/thermocline/thermocline/internal/mariadb"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/internal/testkit"
)

// seedPipelines are the pipeline files of a published platform design, by their
// pipeline.name: a file as it is, and the text of an EXECUTE PIPELINE statement.
func seedPipelines(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(testkit.Shared(t, "seeds/platform-design.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	out := map[string]string{}
	file := regexp.MustCompile(`(?m)^# \S+-cdc\.yaml\n(?:#.*\n)?\n((?:[a-z]+:\n(?: .*\n|\n)+)+)`)
	for _, m := range file.FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`(?m)^pipeline:\n  name: (.*)$`).FindStringSubmatch(m[1])
		if name == nil {
			t.Fatalf("a pipeline without a name:\n%s", m[1])
		}
		out[name[1]] = m[1]
	}
	i := strings.Index(text, "EXECUTE PIPELINE WITHYAML (\n")
	p, _, err := syntax.ParseNext(text[i:i+strings.Index(text[i:], "\n)\n")+2], 0, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out["statement"] = p.Statement.(*syntax.ExecutePipeline).YAML
	return out
}

// TestSeedPipelines runs the files of the platform design as they are: what they
// would do silently wrong is an error with the line to write instead; with the
// lines corrected they run.
func TestSeedPipelines(t *testing.T) {
	seeds := seedPipelines(t)
	if len(seeds) != 4 {
		t.Fatalf("found %d pipelines", len(seeds))
	}
	m := testkit.MariaDB(t, "--default-time-zone=+08:00")
	src, err := sql.Open("mysql", m.DSN("mysql")+"?multiStatements=true")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := src.Exec(`CREATE DATABASE app_db; CREATE DATABASE paimon_metadata; USE app_db;
		CREATE TABLE users (id INT PRIMARY KEY, username VARCHAR(20), phone VARCHAR(20), email VARCHAR(40), status VARCHAR(10), created_at DATETIME COMMENT 'made');
		CREATE TABLE order_0 (id INT PRIMARY KEY, v INT); CREATE TABLE order_12 (id INT PRIMARY KEY, v INT); CREATE TABLE orders_x (id INT PRIMARY KEY);
		INSERT INTO users VALUES (1, 'anna', '13912345678', 'a@x', 'ACTIVE', '2026-01-01'), (2, 'bob', '13800000000', 'b@x', 'GONE', '2026-01-01'), (3, NULL, NULL, NULL, 'ACTIVE', NULL);
		INSERT INTO order_0 VALUES (1, 1); INSERT INTO order_12 VALUES (2, 2)`); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	warehouse := filepath.Join(t.TempDir(), "wh")
	here := strings.NewReplacer("hostname: 192.168.1.100", "hostname: 127.0.0.1", "port: 3306", fmt.Sprint("port: ", m.Port), "username: cdc_reader", "username: "+mariadb.User,
		"password: Cdc@Secure2026", "password: "+mariadb.Password, "file:///data/paimon/warehouse", "file://"+warehouse,
		"jdbc:mysql://localhost:3306/paimon_metadata", fmt.Sprintf("jdbc:mysql://127.0.0.1:%d/paimon_metadata?user=%s&password=%s", m.Port, mariadb.User, mariadb.Password))
	o := ingestOptions(nil, "", nil, nil, nil)
	plan := func(text string) (*ingest.Plan, error) {
		def, err := pipeline.Load([]byte(here.Replace(text)), pipeline.LoadOptions{RequireName: true})
		if err != nil {
			return nil, err
		}
		return ingest.MakePlan(ctx, o, def)
	}
	for name, want := range map[string]string{
		"statement":            `write app_db.\.*`,
		"MySQL-to-Paimon-CDC":  "write app_db.users", // the mask that would not be applied
		"PG-to-Paimon-CDC":     "the source type postgres",
		"Oracle-to-Paimon-CDC": "the source type oracle",
	} {
		if _, err := plan(seeds[name]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	fixed := strings.Replace(seeds["MySQL-to-Paimon-CDC"], `source-table: app_db\.users`, "source-table: app_db.users", 1)
	if _, err := plan(fixed); err == nil || !strings.Contains(err.Error(), `write app_db.\.*`) {
		t.Fatal(err)
	}
	fixed = strings.Replace(fixed, `tables: app_db\..*`, `tables: app_db.\.*`, 1)
	p, err := plan(fixed)
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(p.Warnings, "\n"); !strings.Contains(w, "app_db.orders_merged is fed by 2 tables") || !strings.Contains(w, "lock.flavor") {
		t.Errorf("warnings: %s", w)
	}
	run := func(text string, check map[string]string) {
		t.Helper()
		r := ingest.NewRunner(o)
		defer func() {
			if err := r.Close(ctx); err != nil {
				t.Error(err)
			}
		}()
		if _, err := r.Execute(ctx, here.Replace(text)); err != nil {
			t.Fatal(err)
		}
		for q, want := range check {
			got := []byte{}
			for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
				if got, _ = exec.Command(binary(t), "sql", "--warehouse", warehouse, "--format", "csv", "-e", q).CombinedOutput(); string(got) == want {
					break
				}
			}
			if string(got) != want {
				t.Fatalf("%s: %s, want %s; %+v", q, got, want, r.Status())
			}
		}
	}
	run(fixed, map[string]string{
		"SELECT id, username, phone_masked, email FROM app_db.users ORDER BY id": "id,username,phone_masked,email\n1,anna,139****5678,a@x\n3,,,\n",
		"SELECT * FROM app_db.orders_merged ORDER BY id":                         "id,v\n1,1\n2,2\n",
	})
	if err := os.RemoveAll(warehouse); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Exec("DROP DATABASE paimon_metadata; CREATE DATABASE paimon_metadata"); err != nil {
		t.Fatal(err)
	}
	o = ingestOptions(nil, "", nil, nil, nil)
	run(strings.Replace(seeds["statement"], `tables: app_db\..*`, `tables: app_db.\.*`, 1), map[string]string{
		"SELECT COUNT(*), SUM(phone = '13912345678') FROM app_db.users": "COUNT(*),SUM(phone = '13912345678')\n3,1\n",
	})
}
