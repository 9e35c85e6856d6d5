package mysql

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/session"
)

// fakeAccounts hold accounts by name.
type fakeAccounts struct {
	mu sync.Mutex
	m  map[string]metadata.Account
}

const testSalt = "abcdefghijklmnopqrst"

func (a *fakeAccounts) set(user, method, hash string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		a.m = map[string]metadata.Account{}
	}
	a.m[user] = metadata.Account{Identity: metadata.Identity{User: user, Host: "%"}, Plugin: method, Hash: hash, Locked: user == "locked"}
}

func (a *fakeAccounts) Lookup(user, _ string) (metadata.Account, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x, ok := a.m[user]
	return x, ok
}

func testAccounts() *fakeAccounts {
	a := &fakeAccounts{}
	a.set("nat", methodNative, HashNative("secret"))
	a.set("sha", methodSHA2, HashSHA2("secret", []byte(testSalt)))
	a.set("root", methodSHA2, "")
	a.set("natempty", methodNative, "")
	a.set("locked", methodSHA2, HashSHA2("secret", []byte(testSalt)))
	return a
}

// fakeFactory makes fakeSessions that answer from a table of results.
type fakeFactory struct {
	ids  atomic.Uint32
	open atomic.Int32
	mu   sync.Mutex
	all  map[uint32]*fakeSession

	results map[string]func(ctx context.Context, s *fakeSession, params []expr.Value) (*session.Result, error)
	prepare map[string]session.Prepared
}

func (f *fakeFactory) NextID() uint32 { return f.ids.Add(1) }

func (f *fakeFactory) Open(_ context.Context, o session.OpenOptions) (Session, error) {
	if o.Database == "nope" {
		return nil, errs.Userf(errs.UnknownDatabase, "Unknown database 'nope'")
	}
	s := &fakeSession{f: f, o: o, db: o.Database, zone: time.UTC, client: o.Collation, results: o.Collation}
	f.open.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[uint32]*fakeSession{}
	}
	f.all[o.ID] = s
	return s, nil
}

type fakeSession struct {
	f               *fakeFactory
	o               session.OpenOptions
	db              string
	zone            *time.Location
	client, results string
	openRows        atomic.Int32
	closed          bool
	resets          int
}

func (s *fakeSession) Status() session.Status {
	return session.Status{Autocommit: true, Database: s.db}
}
func (s *fakeSession) Zone() *time.Location     { return s.zone }
func (s *fakeSession) ResultsCollation() string { return s.results }
func (s *fakeSession) ClientCollation() string  { return s.client }
func (s *fakeSession) Close() {
	if !s.closed {
		s.closed = true
		s.f.open.Add(-1)
	}
}

func (s *fakeSession) Reset(context.Context) error { s.resets++; return nil }

func (s *fakeSession) ChangeUser(_ context.Context, o session.OpenOptions) error {
	if o.Database == "nope" {
		return errs.Userf(errs.UnknownDatabase, "Unknown database 'nope'")
	}
	s.o, s.db = o, o.Database
	return nil
}

func (s *fakeSession) Use(_ context.Context, db string) error {
	if db == "nope" {
		return errs.Userf(errs.UnknownDatabase, "Unknown database 'nope'")
	}
	s.db = db
	return nil
}

func (s *fakeSession) Split(text string) []string {
	var out []string
	var quote byte
	from := 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || quote == 0 && text[i] == ';':
			if p := strings.TrimSpace(text[from:i]); p != "" {
				out = append(out, p)
			}
			from = i + 1
		case quote != 0 && text[i] == quote:
			quote = 0
		case quote == 0 && (text[i] == '\'' || text[i] == '"' || text[i] == '`'):
			quote = text[i]
		}
	}
	return out
}

func (s *fakeSession) Prepare(_ context.Context, text string) (*session.Prepared, error) {
	if p, ok := s.f.prepare[text]; ok {
		return &p, nil
	}
	if strings.HasPrefix(text, "SELEC ") {
		return nil, errs.Userf(errs.Syntax, "You have an error in your SQL syntax near '%s' at line 1", text)
	}
	return &session.Prepared{Params: strings.Count(text, "?")}, nil
}

func (s *fakeSession) Execute(ctx context.Context, text string, params []expr.Value) (*session.Result, error) {
	if s.openRows.Load() != 0 {
		return nil, errs.Internalf("rows of the statement before are still open")
	}
	if f, ok := s.f.results[text]; ok {
		return f(ctx, s, params)
	}
	low := strings.ToLower(text)
	switch {
	case strings.HasPrefix(low, "use "):
		s.db = strings.Trim(text[4:], "` ")
		return &session.Result{}, nil
	case strings.HasPrefix(low, "set names "):
		name, _, _ := strings.Cut(strings.TrimSpace(low[10:]), " ")
		name = strings.Trim(name, "'")
		c, ok := metadata.LookupCharset(name)
		if !ok {
			return nil, errs.Userf(errs.UnknownCharset, "Unknown character set: '%s'", name)
		}
		s.client, s.results = c.DefaultCollation, c.DefaultCollation
		return &session.Result{}, nil
	case strings.HasPrefix(low, "set "), strings.HasPrefix(low, "begin"), strings.HasPrefix(low, "commit"), strings.HasPrefix(low, "rollback"):
		return &session.Result{}, nil
	case strings.HasPrefix(low, "insert"):
		return &session.Result{Affected: 3, LastInsertID: 77, Warnings: 2, Info: "Records: 3  Duplicates: 0  Warnings: 2"}, nil
	case strings.HasPrefix(low, "kill connection "):
		id, _ := strconv.Atoi(low[16:])
		s.f.mu.Lock()
		other := s.f.all[uint32(id)]
		s.f.mu.Unlock()
		if other == nil {
			return nil, errs.Userf(errs.NoSuchThread, "Unknown thread id: %d", id)
		}
		other.o.Kill()
		return &session.Result{}, nil
	case low == "select 1":
		return s.rows([]session.Column{{Name: "1", Type: expr.TBigInt.NotNull()}}, vecBatch(ints(1))), nil
	case low == "select user()":
		return s.rows([]session.Column{{Name: "USER()", Type: expr.TString(64, "")}}, vecBatch(strs(s.o.User+"@"+s.o.Address))), nil
	case low == "select database()":
		return s.rows([]session.Column{{Name: "DATABASE()", Type: expr.TString(64, "")}}, vecBatch(strs(s.db))), nil
	case low == "select @@max_allowed_packet":
		return s.rows([]session.Column{{Name: "@@max_allowed_packet", Type: expr.TUint64}}, vecBatch(ints(64<<20))), nil
	case low == "select connection_id()":
		return s.rows([]session.Column{{Name: "CONNECTION_ID()", Type: expr.TUint64}}, vecBatch(ints(int64(s.o.ID)))), nil
	case strings.HasPrefix(low, "select sleep"):
		<-ctx.Done()
		return nil, ctx.Err()
	case strings.HasPrefix(low, "select panic"):
		panic("asked for")
	case strings.HasPrefix(low, "select error"):
		return nil, errs.UserAt(7, errs.UnknownColumn, "Unknown column 'error' in 'field list'")
	case strings.HasPrefix(low, "select ?"): // echo
		cols := make([]session.Column, len(params))
		b := &vector.Batch{Len: 1}
		for i, p := range params {
			cols[i] = session.Column{Name: "?", Type: p.Type}
			b.Cols = append(b.Cols, p.Vec)
		}
		return s.rows(cols, b), nil
	case strings.HasPrefix(low, "select numbers "): // select numbers n
		n, _ := strconv.Atoi(low[len("select numbers "):])
		n = max(0, min(n, 10_000_000))
		var bs []*vector.Batch
		for at := 0; at < n; at += 1000 {
			v := vector.New(vector.I64, 1000)
			for i := at; i < min(at+1000, n); i++ {
				v.AppendI64(int64(i))
			}
			bs = append(bs, vecBatch(v))
		}
		return s.rows([]session.Column{{Name: "n", Type: expr.TBigInt}}, bs...), nil
	case strings.HasPrefix(low, "select late error"):
		r := s.rows([]session.Column{{Name: "n", Type: expr.TBigInt}}, vecBatch(ints(1, 2)))
		r.Rows.(*fakeRows).err = errs.Userf(errs.SubqueryRows, "Subquery returns more than 1 row")
		return r, nil
	case strings.HasPrefix(low, "select late panic"):
		r := s.rows([]session.Column{{Name: "n", Type: expr.TBigInt}}, vecBatch(ints(1, 2)))
		r.Rows.(*fakeRows).panics = true
		return r, nil
	case strings.HasPrefix(low, "select bytes "):
		n, _ := strconv.Atoi(low[len("select bytes "):])
		n = max(0, min(n, 64<<20))
		return s.rows([]session.Column{{Name: "b", Type: expr.TString(n, "")}}, vecBatch(strs(strings.Repeat("x", n)))), nil
	}
	return nil, errs.Userf(errs.Syntax, "You have an error in your SQL syntax; the fake does not answer near '%.40s' at line 1", text)
}

// rows makes a result of batches.
func (s *fakeSession) rows(cols []session.Column, batches ...*vector.Batch) *session.Result {
	s.openRows.Add(1)
	return &session.Result{Columns: cols, Rows: &fakeRows{s: s, batches: batches}}
}

type fakeRows struct {
	s       *fakeSession
	batches []*vector.Batch
	last    *vector.Batch
	err     error
	panics  bool
	closed  bool
}

func (r *fakeRows) Next(ctx context.Context) (*vector.Batch, error) {
	if r.last != nil { // a batch is only valid until here
		for _, v := range r.last.Cols {
			if v.Form == vector.Flat && v.Kind == vector.I64 {
				clear(v.I64s)
			}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(r.batches) == 0 {
		if r.panics {
			panic("late")
		}
		return nil, r.err
	}
	r.last = r.batches[0]
	r.batches = r.batches[1:]
	return r.last, nil
}

func (r *fakeRows) Close() error {
	if !r.closed {
		r.closed = true
		r.s.openRows.Add(-1)
	}
	return nil
}

func vecBatch(vs ...*vector.Vec) *vector.Batch { return &vector.Batch{Len: vs[0].Len, Cols: vs} }

func ints(xs ...int64) *vector.Vec {
	v := vector.New(vector.I64, len(xs))
	for _, x := range xs {
		v.AppendI64(x)
	}
	return v
}

func strs(xs ...string) *vector.Vec {
	v := vector.New(vector.Str, len(xs))
	for _, x := range xs {
		v.AppendString(x)
	}
	return v
}

// start runs a server with fakes until the test ends.
func start(t testing.TB, change func(*Config)) (*Server, *fakeFactory, string) {
	t.Helper()
	f := &fakeFactory{}
	cfg := Config{Accounts: testAccounts(), Sessions: f, Log: slog.New(slog.DiscardHandler), DrainTimeout: 2 * time.Second}
	if change != nil {
		change(&cfg)
	}
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if n := f.open.Load(); n != 0 {
			t.Errorf("%d sessions are still open", n)
		}
	})
	return s, f, l.Addr().String()
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	return nc
}

func dsn(user, password, addr, options string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/shop?%s", user, password, addr, options)
}
