package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// load changes the source's tables.
type load struct {
	db     *sql.DB
	shapes []*shape
	rate   int // changes a second
	big    int // rows of a big transaction

	changes, transactions, alterations, refusals atomic.Int64
	number                                       atomic.Int64 // of the last row of append tables
	mu                                           sync.Mutex
	refused                                      map[string]int // statements that the source refused, by what it said
	pace                                         time.Time      // when the next change is due
}

// has reports whether there is a table.
func (l *load) has(name string) bool {
	return slices.ContainsFunc(l.shapes, func(s *shape) bool { return s.name == name })
}

// wait keeps the load to its rate.
func (l *load) wait(ctx context.Context, changes int64) bool {
	l.mu.Lock()
	now := time.Now()
	if l.pace.Before(now.Add(-time.Second)) {
		l.pace = now // what the source could not take is not made up for
	}
	at := l.pace
	l.pace = l.pace.Add(time.Duration(changes) * time.Second / time.Duration(l.rate))
	l.mu.Unlock()
	return pause(ctx, time.Until(at))
}

// note counts errors of statements: deadlocks and cut connections belong to it,
// others tell of a mistake in the load.
func (l *load) note(err error) {
	l.refusals.Add(1)
	what := "a cut connection"
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		what = fmt.Sprint("error ", e.Number)
		if !slices.Contains([]uint16{1205, 1213, 1053, 1927, 1020}, e.Number) {
			what = e.Error()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.refused) < 50 {
		l.refused[what]++
	}
}

// work makes transactions until ctx ends.
func (l *load) work(ctx context.Context, r *rand.Rand) {
	var weighted []*shape
	for _, s := range l.shapes {
		for range s.often {
			weighted = append(weighted, s)
		}
	}
	change := func() int64 { return l.number.Add(1) }
	for ctx.Err() == nil {
		var statements []string
		for range 1 + r.IntN(5)*r.IntN(2) {
			statements = append(statements, weighted[r.IntN(len(weighted))].statement(r, change))
		}
		switch kind := r.IntN(400); {
		case kind > 2 || !l.has("plain") || !l.has("app") || !l.has("moves"):
		case kind == 0: // large
			k := l.number.Load()
			statements = append(statements, fmt.Sprintf("REPLACE INTO n.plain SELECT seq * 3, %d, 'large', seq FROM n.seq_1_to_%d", k%1000, l.big),
				fmt.Sprintf("INSERT INTO n.app SELECT %d + seq, seq, 'large' FROM n.seq_1_to_%d", l.number.Add(int64(l.big))-int64(l.big), l.big))
		case kind == 1:
			statements = append(statements, "UPDATE n.plain SET a = a + 1 WHERE id < 20000")
		case kind == 2: // swaps of unique values
			statements = append(statements, "UPDATE n.moves SET id = -1 WHERE id = 1", "UPDATE n.moves SET id = 1 WHERE id = 2", "UPDATE n.moves SET id = 2 WHERE id = -1")
		}
		n, err := l.transaction(ctx, statements, r.IntN(12) == 0)
		if err != nil && ctx.Err() == nil {
			l.note(err)
			pause(ctx, 100*time.Millisecond)
		}
		if !l.wait(ctx, max(n, 1)) {
			return
		}
	}
}

// transaction runs statements as one and returns how many rows it changed.
func (l *load) transaction(ctx context.Context, statements []string, rollback bool) (int64, error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	var changes int64
	for _, q := range statements {
		res, err := tx.ExecContext(ctx, q)
		if err != nil {
			if e := (*mysql.MySQLError)(nil); errors.As(err, &e) && e.Number == 1064 {
				return 0, fmt.Errorf("%s: %w", q, err)
			}
			return 0, err
		}
		n, _ := res.RowsAffected()
		changes += n
	}
	if rollback {
		return 1, tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	l.changes.Add(changes)
	l.transactions.Add(1)
	return changes, nil
}

// alter changes definitions: of ddl_1 and ddl_2 columns, of again everything.
func (l *load) alter(ctx context.Context, r *rand.Rand, every time.Duration) {
	for next := 0; ctx.Err() == nil; next++ {
		if !pause(ctx, every/2+time.Duration(r.Int64N(int64(every)))) {
			return
		}
		var statements []string
		switch {
		case r.IntN(8) == 0 && l.has("again"):
			statements = l.again(r)
		default:
			table := fmt.Sprint("n.ddl_", 1+r.IntN(2))
			columns, err := l.columns(ctx, table)
			if err != nil {
				continue
			}
			statements = alteration(r, table, columns, next)
		}
		for _, q := range statements {
			if _, err := l.db.ExecContext(ctx, q); err != nil {
				if ctx.Err() == nil {
					l.note(fmt.Errorf("%s: %w", q, err))
				}
				break
			}
			l.alterations.Add(1)
		}
	}
}

// again drops a table, or moves it away, when it is empty: what is in the lake
// stays there, so that it must be empty there too.
func (l *load) again(r *rand.Rand) []string {
	create := ""
	for _, s := range l.shapes {
		if s.name == "again" {
			create = s.create
		}
	}
	fill := "INSERT IGNORE INTO n.again SELECT seq, seq, 'new' FROM n.seq_1_to_50"
	// Others write to the table too: the lock keeps them out until it is gone.
	const empty = "LOCK TABLES n.again WRITE; DELETE FROM n.again; "
	switch r.IntN(3) {
	case 0:
		return []string{empty + "DROP TABLE n.again; UNLOCK TABLES", "CREATE TABLE IF NOT EXISTS n.again (" + create + ")", fill}
	case 1:
		return []string{"TRUNCATE TABLE n.again", fill}
	}
	return []string{"DROP TABLE IF EXISTS n.away", empty + "ALTER TABLE n.again RENAME TO n.away; UNLOCK TABLES", "CREATE TABLE IF NOT EXISTS n.again (" + create + ")", fill}
}

func (l *load) columns(ctx context.Context, table string) ([]string, error) {
	rs, err := l.db.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer rs.Close()
	return rs.Columns()
}

// alteration makes a random change of a table's columns and some rows after it.
func alteration(r *rand.Rand, table string, columns []string, next int) []string {
	own := columns[:0:0]
	for _, c := range columns {
		if strings.HasPrefix(c, "a") {
			own = append(own, c)
		}
	}
	name := fmt.Sprint("a", next)
	add := func() string {
		kind := oneOf("INT", "VARCHAR(20)", "BIGINT", "DECIMAL(8,2)")(r)
		return fmt.Sprintf("ADD COLUMN %s %s NULL %s", name, kind, oneOf("", "FIRST", "AFTER id", "AFTER base")(r))
	}
	var q string
	if len(own) == 0 {
		q = add()
	} else {
		c := own[r.IntN(len(own))]
		switch x := r.IntN(8); {
		case x < 2 && len(own) < 6:
			q = add()
		case x < 4:
			q = "DROP COLUMN " + c
		case x == 4:
			q = fmt.Sprintf("RENAME COLUMN %s TO %s", c, name)
		case x == 5:
			q = fmt.Sprintf("MODIFY %s TEXT", c)
		case x == 6 && len(own) > 1:
			d := own[(slices.Index(own, c)+1)%len(own)]
			q = fmt.Sprintf("RENAME COLUMN %[1]s TO %[2]s, RENAME COLUMN %[2]s TO %[1]s", c, d)
		default:
			q = fmt.Sprintf("DROP COLUMN %s, %s", c, add())
		}
	}
	return []string{fmt.Sprintf("ALTER TABLE %s %s", table, q),
		fmt.Sprintf("INSERT INTO %s (id, base) VALUES (%d, %d) ON DUPLICATE KEY UPDATE base = VALUES(base)", table, 1000+next, next),
		fmt.Sprintf("UPDATE %s SET base = base + 1 WHERE id %% 5 = %d", table, r.IntN(5))}
}
