package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/thermocline/thermocline/internal/mariadb"
)

// The demo runs the main job end to end through the real doors: a private
// MariaDB, a pipeline file, the server, and a MySQL client. Every answer is
// checked, so that `demo --once` is a test of an installation.

const demoSource = `CREATE DATABASE sales;
CREATE TABLE sales.orders (order_id INT PRIMARY KEY, customer_id INT, region VARCHAR(10), amount DOUBLE, status VARCHAR(10),
  order_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO sales.orders (order_id, customer_id, region, amount, status) VALUES
  (1001, 1, 'US', 20.5, 'NEW'), (1002, 2, 'EU', 35.2, 'NEW'), (1003, 3, 'CN', 66.6, 'NEW'),
  (1004, 4, 'UK', 38.9, 'NEW'), (1005, 5, 'AU', 25.3, 'NEW'), (1006, 6, 'JP', 33.8, 'NEW');`

var demoChanges = []string{
	"INSERT INTO sales.orders (order_id, customer_id, region, amount, status) VALUES (3001, 31, 'US', 12.3, 'PAID')",
	"INSERT INTO sales.orders (order_id, customer_id, region, amount, status) VALUES (6001, 61, 'US', 18.5, 'NEW'), (6002, 62, 'EU', 27.0, 'PAID'), (6003, 63, 'APAC', 33.3, 'NEW')",
	"UPDATE sales.orders SET amount = amount + 5, status = 'PAID' WHERE order_id IN (6001, 6002)",
	"DELETE FROM sales.orders WHERE order_id = 6003",
}

// demoPipeline is the pipeline file for a MySQL-like source.
func demoPipeline(host string, port int, user, password, warehouse string) string {
	return fmt.Sprintf(`# Copies sales.orders of a MariaDB into the lake table dwd.orders_paimon and follows it.
source:
  type: mysql
  hostname: %s
  port: %d
  username: %s
  password: %s
  tables: sales.orders
  server-id: 5400-5404
  server-time-zone: UTC

route:
  - source-table: sales.orders
    sink-table: dwd.orders_paimon

sink:
  type: paimon
  catalog.properties.metastore: filesystem
  catalog.properties.warehouse: %s

pipeline:
  name: orders
`, host, port, user, password, warehouse)
}

// demoGenerator is the pipeline file of the built-in source: the same rows and
// changes without a database.
func demoGenerator(warehouse string) string {
	return fmt.Sprintf(`# The same rows and changes from the built-in generator.
source:
  type: generator
  tables: sales.orders
  start-delay: 2s
  rate: 4
  limit: 4

route:
  - source-table: sales.orders
    sink-table: dwd.orders_paimon

sink:
  type: paimon
  catalog.properties.metastore: filesystem
  catalog.properties.warehouse: %s

pipeline:
  name: orders
`, warehouse)
}

type demo struct {
	dir    string
	once   bool
	source *mariadb.Server // nil: the generator
	lake   *sql.DB
}

func runDemo(ctx context.Context, c *command, args []string) (err error) {
	f := c.flags()
	once := f.Bool("once", false, "check every step and exit, on free ports")
	dir := f.String("dir", "", "the `folder` to work in; removed at the end unless given (default a new temporary one)")
	noDB := f.Bool("generator", false, "use the built-in generator instead of a MariaDB")
	if err := c.parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	d := &demo{dir: *dir, once: *once}
	if d.dir == "" {
		if d.dir, err = os.MkdirTemp("", "thermocline-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(d.dir)
	} else if err = os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	cfg := defaults()
	cfg.Warehouse = filepath.Join(d.dir, "lake")
	cfg.DataDir = filepath.Join(cfg.Warehouse, ".thermocline")
	cfg.MySQLListen, cfg.HTTPListen = d.listen(cfg.MySQLListen), d.listen(cfg.HTTPListen)

	pipeline := filepath.Join(d.dir, "orders.yaml")
	text := demoGenerator(cfg.Warehouse)
	switch {
	case *noDB:
	case !mariadb.Available():
		fmt.Println("There is no MariaDB server on this machine (Debian: apt-get install mariadb-server): the built-in generator stands in for it.")
	default:
		d.say("1. Start a private MariaDB with six orders")
		start, cancel := context.WithTimeout(ctx, 2*time.Minute)
		d.source, err = mariadb.Start(start, filepath.Join(d.dir, "mariadb"))
		cancel()
		if err != nil {
			return err
		}
		defer d.source.Kill()
		if _, err := d.source.Exec(ctx, demoSource); err != nil {
			return err
		}
		text = demoPipeline("127.0.0.1", d.source.Port, mariadb.User, mariadb.Password, cfg.Warehouse)
	}
	if err := os.WriteFile(pipeline, []byte(text), 0o644); err != nil {
		return err
	}
	cfg.Pipelines = []string{pipeline}

	d.say("2. Start the server with a pipeline")
	fmt.Println("   $ thermocline serve --warehouse", cfg.Warehouse, "--pipeline", pipeline)
	in, err := startInstance(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, in.Stop(stop))
	}()
	d.lake, err = sql.Open("mysql", "root:@tcp("+in.MySQLAddr()+")/")
	if err != nil {
		return err
	}
	defer d.lake.Close()
	if err := d.steps(ctx); err != nil {
		return err
	}
	if d.once {
		fmt.Println("\nAll answers are right.")
		return nil
	}
	host, port, _ := net.SplitHostPort(in.MySQLAddr())
	fmt.Printf("\nThe server stays up until Ctrl-C. Try:\n\n   mariadb -h %s -P %s -u root -e 'SELECT * FROM dwd.orders_paimon'\n", host, port)
	if d.source != nil {
		fmt.Printf("   mariadb -h 127.0.0.1 -P %d -u %s -p%s -e \"INSERT INTO sales.orders VALUES (7001, 7, 'BR', 9.5, 'NEW', NOW())\"    # the source\n",
			d.source.Port, mariadb.User, mariadb.Password)
	}
	fmt.Printf("   curl http://%s/metrics\n\nThe lake table is %s: Flink, Spark, Trino and pypaimon read it as it is.\n",
		in.HTTPAddr(), filepath.Join(cfg.Warehouse, "dwd.db", "orders_paimon"))
	<-ctx.Done()
	fmt.Println("\nStopping.")
	return nil
}

// listen returns addr, or a free port on the same host when it is taken or the
// demo is only a check.
func (d *demo) listen(addr string) string {
	if !d.once {
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	host, _, _ := net.SplitHostPort(addr)
	return net.JoinHostPort(host, "0")
}

func (d *demo) say(what string) { fmt.Printf("\n== %s\n", what) }

// query runs a query on the lake and returns its rows as text.
func (d *demo) query(ctx context.Context, q string) (header []string, rows [][]string, err error) {
	r, err := d.lake.QueryContext(ctx, q)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", q, err)
	}
	defer r.Close()
	header, err = r.Columns()
	if err != nil {
		return nil, nil, err
	}
	for r.Next() {
		vals := make([]sql.NullString, len(header))
		ptrs := make([]any, len(header))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := r.Scan(ptrs...); err != nil {
			return nil, nil, err
		}
		row := make([]string, len(header))
		for i, v := range vals {
			row[i] = "NULL"
			if v.Valid {
				row[i] = v.String
			}
		}
		rows = append(rows, row)
	}
	return header, rows, r.Err()
}

// show runs a query, prints it with its rows, and compares them with want, rows
// joined by "|" (nil: anything). Columns beyond those of want are not compared.
func (d *demo) show(ctx context.Context, q string, want ...string) error {
	fmt.Println("   mysql>", q)
	header, rows, err := d.query(ctx, q)
	if err != nil {
		return err
	}
	width := make([]int, len(header))
	for _, r := range append([][]string{header}, rows...) {
		for i, v := range r {
			width[i] = max(width[i], len(v))
		}
	}
	line := func(r []string) {
		var b strings.Builder
		for i, v := range r {
			fmt.Fprintf(&b, " %-*s", width[i], v)
		}
		fmt.Println("  ", strings.TrimRight(b.String(), " "))
	}
	line(header)
	for _, r := range rows {
		line(r)
	}
	if want == nil {
		return nil
	}
	var got []string
	for i, r := range rows {
		n := len(r)
		if i < len(want) {
			n = min(n, strings.Count(want[i], "|")+1)
		}
		got = append(got, strings.Join(r[:n], "|"))
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: the answer is wrong: expected %q", q, want)
	}
	return nil
}

// wait polls a query until its only value is want.
func (d *demo) wait(ctx context.Context, q, want string) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	for {
		_, rows, err := d.query(ctx, q)
		if err == nil && len(rows) == 1 && rows[0][0] == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not become %s: got %v, %v", q, want, rows, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

var demoSix = []string{
	"1001|1|US|20.5|NEW", "1002|2|EU|35.2|NEW", "1003|3|CN|66.6|NEW", "1004|4|UK|38.9|NEW", "1005|5|AU|25.3|NEW", "1006|6|JP|33.8|NEW",
}

func (d *demo) steps(ctx context.Context) error {
	const count = "SELECT COUNT(*) FROM dwd.orders_paimon"
	if err := d.wait(ctx, count, "6"); err != nil {
		return err
	}
	if err := d.show(ctx, "SELECT * FROM dwd.orders_paimon ORDER BY order_id", demoSix...); err != nil {
		return err
	}
	_, rows, err := d.query(ctx, "SELECT MAX(snapshot_id) FROM dwd.`orders_paimon$snapshots`")
	if err != nil {
		return err
	}
	before := rows[0][0]
	// A moment between the copy and the changes, for time travel: commits are
	// stamped in milliseconds.
	time.Sleep(20 * time.Millisecond)
	_, rows, err = d.query(ctx, "SELECT NOW(3)")
	if err != nil {
		return err
	}
	moment := rows[0][0]
	time.Sleep(20 * time.Millisecond)

	if d.source != nil {
		d.say("3. Change the source")
		for _, q := range demoChanges {
			fmt.Println("   source>", q)
			if _, err := d.source.Exec(ctx, q); err != nil {
				return err
			}
		}
	} else {
		d.say("3. The generator makes its changes")
	}
	changed := time.Now()
	if err := d.wait(ctx, "SELECT CONCAT(COUNT(*), ' ', SUM(status = 'PAID'), ' ', SUM(order_id = 6003)) FROM dwd.orders_paimon", "9 3 0"); err != nil {
		return err
	}
	fmt.Printf("   visible in the lake after %v\n", time.Since(changed).Round(time.Millisecond))

	d.say("4. Ask over the MySQL protocol")
	nine := append(slices.Clone(demoSix), "3001|31|US|12.3|PAID", "6001|61|US|23.5|PAID", "6002|62|EU|32|PAID")
	for _, q := range []struct {
		sql  string
		want []string
	}{
		{count, []string{"9"}},
		{"SELECT * FROM dwd.orders_paimon ORDER BY order_id", nine},
		{"SELECT customer_id, CAST(SUM(amount) AS DOUBLE) total FROM dwd.orders_paimon GROUP BY customer_id ORDER BY total DESC LIMIT 5",
			[]string{"3|66.6", "4|38.9", "2|35.2", "6|33.8", "62|32"}},
		{"SELECT region, COUNT(*) n, ROUND(AVG(amount), 2) average FROM dwd.orders_paimon WHERE status IN ('NEW', 'PAID') GROUP BY region HAVING n > 1 ORDER BY region",
			[]string{"EU|2|33.6", "US|3|18.77"}},
	} {
		if err := d.show(ctx, q.sql, q.want...); err != nil {
			return err
		}
	}

	d.say("5. Travel in time")
	if err := d.show(ctx, "SELECT snapshot_id, commit_kind, commit_time, total_record_count FROM dwd.`orders_paimon$snapshots` ORDER BY snapshot_id"); err != nil {
		return err
	}
	for _, q := range []string{
		"SELECT COUNT(*), MAX(order_id) FROM dwd.orders_paimon FOR VERSION AS OF " + before,
		"SELECT COUNT(*), MAX(order_id) FROM dwd.orders_paimon /*+ OPTIONS('scan.snapshot-id'='" + before + "') */",
		"SELECT COUNT(*), MAX(order_id) FROM dwd.orders_paimon FOR TIMESTAMP AS OF '" + moment + "'",
	} {
		if err := d.show(ctx, q, "6|1006"); err != nil {
			return err
		}
	}
	return nil
}
