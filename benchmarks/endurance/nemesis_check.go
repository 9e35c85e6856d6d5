package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// watch reads tables while everything goes on: a transaction is there wholly or
// not at all, rows of append tables are there once and stay.
func (n *nemesis) watch(ctx context.Context) error {
	db, err := open(n.addr)
	if err != nil {
		return err
	}
	defer db.Close()
	counts := map[string]int64{}
	for pause(ctx, 700*time.Millisecond) {
		if err := standing(ctx, db); err != nil {
			return err
		}
		var sum, rows sql.NullInt64
		// The first copy is visible as a whole.
		if err := db.QueryRowContext(ctx, "SELECT SUM(v), COUNT(*) FROM n.bank").Scan(&sum, &rows); err == nil && rows.Int64 > 0 && (sum.Int64 != 300*301/2 || rows.Int64 != 300) {
			return fmt.Errorf("WRONG: n.bank has %d rows with the sum %d while it is followed, which no state of the source has", rows.Int64, sum.Int64)
		}
		for _, t := range []string{"n.app", "n.app_day"} {
			var all, different int64
			if err := db.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(DISTINCT chg) FROM "+t).Scan(&all, &different); err != nil {
				continue // the server is down, or the table not there yet
			}
			if all != different || all < counts[t] {
				return fmt.Errorf("WRONG: %s has %d rows, %d different, after %d before", t, all, different, counts[t])
			}
			counts[t] = all
		}
	}
	return nil
}

// standing is an error when the pipeline or a table of it has given up: nothing
// that is done to them is a reason.
func standing(ctx context.Context, db *sql.DB) error {
	for _, q := range []string{"SELECT 'the pipeline', name, last_error FROM sys.pipelines WHERE state = 'failed'",
		"SELECT 'the table', CONCAT(table_schema, '.', table_name), last_error FROM sys.pipeline_tables WHERE phase = 'stopped'"} {
		rows, err := texts(ctx, db, q, false)
		if err != nil {
			return nil // the server is down
		}
		for row := range rows {
			return fmt.Errorf("WRONG: given up: %s", row)
		}
	}
	return nil
}

// phases are the tables that are not followed yet; an error when the server does
// not answer.
func phases(ctx context.Context, db *sql.DB) (string, error) {
	rows, err := texts(ctx, db, "SELECT table_schema, table_name, phase FROM sys.pipeline_tables", false)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "no table is known", nil
	}
	var out []string
	for row := range rows {
		if !strings.HasSuffix(row, "|stream") {
			out = append(out, row)
		}
	}
	return strings.Join(out, ", "), nil
}

// copied waits until every table is followed, while everything else goes on; not
// for ever, since a busy machine may never be done with so many changes.
func (n *nemesis) copied(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, n.patience)
	defer cancel()
	db, err := open(n.addr)
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		left, err := phases(wait, db)
		if err == nil && left == "" {
			n.j.note("first copies done", "")
			return nil
		}
		if !pause(wait, 500*time.Millisecond) {
			n.j.note("first copies not awaited", "%s %v", left, err)
			return ctx.Err()
		}
	}
}

// settle waits until the pipeline has everything and no table has stopped. A mark
// may be there by the copy of its table, while others still catch up; the second
// comes by the log, in a round whose tables are not there in one step; the third
// after that.
func (n *nemesis) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.patience)
	defer cancel()
	for range 3 {
		if err := n.mark(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mark changes a row and waits until the lake has it.
func (n *nemesis) mark(ctx context.Context) error {
	mark := time.Now().UnixNano() % 1_000_000_000
	if _, err := n.load.db.ExecContext(ctx, "UPDATE n.marker SET v = ?", mark); err != nil {
		return err
	}
	db, err := open(n.addr)
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		var got int64
		if err := standing(ctx, db); err != nil {
			return err
		}
		left, err := phases(ctx, db)
		if err == nil {
			err = db.QueryRowContext(ctx, "SELECT v FROM n.marker").Scan(&got)
			if err == nil && got == mark && left == "" {
				return nil
			}
		}
		if !pause(ctx, 300*time.Millisecond) {
			return fmt.Errorf("the pipeline does not come to rest: %s, marker %d of %d, %v\n%s", left, got, mark, err, n.lastLog())
		}
	}
}

// texts reads rows as texts, with how often each is there.
func texts(ctx context.Context, db *sql.DB, query string, floats bool) (map[string]int, error) {
	rs, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rs.Close()
	columns, err := rs.ColumnTypes()
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	vals := make([]sql.RawBytes, len(columns))
	dest := make([]any, len(columns))
	for i := range vals {
		dest[i] = &vals[i]
	}
	for rs.Next() {
		if err := rs.Scan(dest...); err != nil {
			return nil, err
		}
		var b []byte
		for i, v := range vals {
			if i > 0 {
				b = append(b, '|')
			}
			switch {
			case v == nil:
				b = append(b, "NULL"...)
				continue
			case floats && (columns[i].DatabaseTypeName() == "DOUBLE" || columns[i].DatabaseTypeName() == "FLOAT"):
				if x, err := strconv.ParseFloat(string(v), 64); err == nil {
					b = strconv.AppendFloat(b, x, 'g', -1, 64)
					continue
				}
			}
			b = append(b, v...)
		}
		out[string(b)]++
	}
	return out, rs.Err()
}

// compare compares a lake table with its sources.
func (n *nemesis) compare(ctx context.Context, lake *sql.DB, table string) (int, error) {
	want, ours, floats := map[string]int{}, "", false
	for _, s := range n.load.shapes {
		if !slices.Contains(s.lakes, table) {
			continue
		}
		theirs := s.theirs
		if ours = s.ours; theirs == "" {
			theirs = strings.Join(s.names(0, len(s.cols)), ", ")
			ours = theirs
		}
		if table == shards { // its rows say whose they are
			ours, theirs = "shard, "+ours, fmt.Sprintf("'n.%s', %s", s.name, theirs)
		}
		q := fmt.Sprintf("SELECT %s FROM n.%s", theirs, s.name)
		if s.where != "" {
			q += " WHERE " + s.where
		}
		floats = floats || s.floats
		rows, err := texts(ctx, n.load.db, q, s.floats)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", q, err)
		}
		for k, c := range rows {
			want[k] += c
		}
	}
	got, err := texts(ctx, lake, fmt.Sprintf("SELECT %s FROM %s", ours, table), floats)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", table, err)
	}
	var more, less []string
	differ, rows := 0, 0
	for k, c := range want {
		rows += c
		if got[k] != c {
			differ++
			if len(less) < 5 {
				less = append(less, fmt.Sprintf("%.200q × %d, in the lake × %d", k, c, got[k]))
			}
		}
	}
	for k, c := range got {
		if _, ok := want[k]; !ok {
			differ++
			if len(more) < 5 {
				more = append(more, fmt.Sprintf("%.200q × %d", k, c))
			}
		}
	}
	if differ > 0 {
		return 0, fmt.Errorf("WRONG: %s: %d rows differ of %d; of the source\n  %s\nonly in the lake\n  %s", table, differ, rows, strings.Join(less, "\n  "), strings.Join(more, "\n  "))
	}
	return rows, nil
}

// tables are the lake tables.
func (n *nemesis) tables() []string {
	var out []string
	for _, s := range n.load.shapes {
		for _, t := range s.lakes {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// check compares everything, cleans, and compares again.
func (n *nemesis) check(ctx context.Context) (string, error) {
	lake, err := open(n.addr)
	if err != nil {
		return "", err
	}
	defer lake.Close()
	var wrong []string
	total := 0
	compareAll := func() {
		total = 0
		for _, t := range n.tables() {
			rows, err := n.compare(ctx, lake, t)
			if err != nil {
				wrong = append(wrong, err.Error())
			}
			total += rows
		}
	}
	compareAll()
	if len(wrong) > 0 {
		return "", fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	said, err := n.verifyFile(ctx)
	if err != nil {
		return "", fmt.Errorf("WRONG: the tables are equal, but %w", err)
	}
	if err := os.WriteFile(filepath.Join(n.dir, "verify.txt"), []byte(said), 0o644); err != nil {
		return "", err
	}
	files := n.files()
	// What processes that died left behind goes; nothing else does.
	if _, err := lake.ExecContext(ctx, "PAUSE PIPELINE nemesis"); err != nil {
		return "", err
	}
	pause(ctx, 2*time.Second)
	var now string
	if err := lake.QueryRowContext(ctx, "SELECT NOW() - INTERVAL 1 SECOND").Scan(&now); err != nil {
		return "", err
	}
	orphans := int64(0)
	for _, t := range n.tables() {
		var deleted int64
		q := fmt.Sprintf("CALL sys.remove_orphan_files(`table` => '%s', older_than => '%s')", t, now)
		if err := lake.QueryRowContext(ctx, q).Scan(&deleted); err != nil {
			return "", fmt.Errorf("%s: %w", q, err)
		}
		orphans += deleted
	}
	compareAll()
	if len(wrong) > 0 {
		return "", fmt.Errorf("after cleaning: %s", strings.Join(wrong, "\n"))
	}
	// A process that dies leaves at most what one round of every table was writing
	// and what it was compacting.
	if most := int64(len(n.tables())) * int64(n.kills+n.restarts+n.j.faults()) * 6; orphans > most {
		return "", fmt.Errorf("WRONG: %d files were left behind, %d is the bound", orphans, most)
	}
	if err := n.javaVerify(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d rows in %d tables, verify agrees; %d files before cleaning, %d of them left behind by what died", total, len(n.tables()), files, orphans), nil
}

// files counts the files of the warehouse, -1 where that cannot be done.
func (n *nemesis) files() (count int) {
	dir := filepath.Join(n.dir, "lake")
	if n.store != nil {
		dir = filepath.Join(n.dir, "s3/data/lake")
	}
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			count++
		}
		return err
	})
	if err != nil {
		return -1
	}
	return count
}

// javaVerify lets Java Paimon read every table.
func (n *nemesis) javaVerify(ctx context.Context) error {
	if n.java == "" {
		return nil
	}
	dir := filepath.Join(n.dir, "lake")
	if n.store != nil { // its objects are plain files
		dir = filepath.Join(n.dir, "s3/data/lake/house")
	}
	for _, t := range n.tables() {
		db, name, _ := strings.Cut(t, ".")
		if err := verify(ctx, n.java, filepath.Join(dir, db+".db", name)); err != nil {
			return err
		}
	}
	return nil
}
