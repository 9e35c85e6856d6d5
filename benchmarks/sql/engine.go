package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

//go:embed engine.py
var enginePy string

// engine is a process that runs statements.
type engine struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	also *exec.Cmd // the server of a client
}

func start(name string, cmd *exec.Cmd) (*engine, error) {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return &engine{name: name, cmd: cmd, in: in, out: json.NewDecoder(out)}, nil
}

// run runs one statement. An error of the statement is in the reply.
func (e *engine) run(r request) (a reply, err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	if _, err := e.in.Write(append(line, '\n')); err != nil {
		return a, fmt.Errorf("%s: %w", e.name, err)
	}
	if err := e.out.Decode(&a); err != nil {
		return a, fmt.Errorf("%s: %w", e.name, err)
	}
	return a, nil
}

func (e *engine) close() {
	e.in.Close()
	_ = e.cmd.Wait()
	if e.also != nil {
		_ = e.also.Process.Signal(os.Interrupt)
		_ = e.also.Wait()
	}
}

// server starts thermocline on a free port, and a client of it.
func (b *bench) server(database string) (*engine, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	args := []string{"serve", "--warehouse", b.warehouse(), "--data-dir", b.temp + "/server-" + database,
		"--mysql-listen", fmt.Sprint("127.0.0.1:", port), "--http-listen", "127.0.0.1:0"}
	if b.limit != "" {
		args = append(args, "--memory-limit", b.limit)
	}
	srv := exec.Command(b.binary, args...)
	srv.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", b.threads))
	srv.Stderr = os.Stderr
	if err := srv.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			_ = srv.Process.Kill()
			return nil, errors.Join(errors.New("the server does not answer"), srv.Wait())
		}
	}
	e, err := start("wire", exec.Command(b.python, "-c", enginePy, b.shared, "mysql", "127.0.0.1", fmt.Sprint(port), database, fmt.Sprint(srv.Process.Pid)))
	if err != nil {
		_ = srv.Process.Kill()
		return nil, errors.Join(err, srv.Wait())
	}
	e.also = srv
	return e, nil
}

// query is one query in the texts of both.
type query struct {
	name, suite  string
	ours, duckdb string
}

// queries returns the queries that were asked for.
func (b *bench) queries() (out []query, err error) {
	raw, err := exec.Command(b.python, "-c", enginePy, b.shared, "queries").Output()
	if err != nil {
		return nil, fmt.Errorf("texts of the queries: %w", err)
	}
	var texts struct {
		TPCH       []string `json:"tpch"`
		Hits       []string `json:"hits"`
		HitsDuckDB []string `json:"hits_duckdb"`
	}
	if err := json.Unmarshal(raw, &texts); err != nil {
		return nil, err
	}
	if b.sf > 0 {
		for i, t := range texts.TPCH {
			own, err := os.ReadFile(fmt.Sprintf("testdata/tpch/queries/q%02d.sql", i+1))
			if err != nil {
				return nil, err
			}
			out = append(out, query{fmt.Sprintf("tpch-q%02d", i+1), "tpch", trim(string(own)), trim(t)})
		}
	}
	if b.rows > 0 {
		for i, t := range texts.Hits {
			out = append(out, query{fmt.Sprintf("hits-q%02d", i+1), "hits", t, texts.HitsDuckDB[i]})
		}
	}
	if b.only == "" {
		return out, nil
	}
	var some []query
	for _, q := range out {
		for _, o := range strings.Split(b.only, ",") {
			if strings.Contains(q.name, o) {
				some = append(some, q)
				break
			}
		}
	}
	return some, nil
}

func trim(s string) string { return strings.TrimRight(strings.TrimSpace(s), ";") }
