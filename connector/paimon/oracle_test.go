package paimon_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// oracle is Java Paimon on the command line: one process for all tests of the
// package, since its start and its first minute cost more than most of what it is
// asked. It ends when its input does, with the tests.
type oracle struct {
	mu    sync.Mutex
	in    io.Writer
	out   *bufio.Reader
	calls int
}

var startOracle = sync.OnceValues(func() (*oracle, error) {
	cmd := exec.Command(os.Getenv("THERMOCLINE_PAIMON_JAVA"), "batch")
	if os.Getenv("PAIMON_JAVA_TIER") == "" {
		// What runs a minute is not worth the second compiler.
		cmd.Env = append(os.Environ(), "PAIMON_JAVA_TIER=1")
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &oracle{in: in, out: bufio.NewReader(out)}, nil
})

// javaPaimon is the oracle, where THERMOCLINE_PAIMON_JAVA names it.
func javaPaimon(t *testing.T) *oracle {
	t.Helper()
	if os.Getenv("THERMOCLINE_PAIMON_JAVA") == "" {
		t.Skip("needs THERMOCLINE_PAIMON_JAVA, a program that runs Java Paimon")
	}
	o, err := startOracle()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// batch runs commands, one a line, tabs between their arguments, and returns the
// lines that say which failed. What commands print must go to files.
func (o *oracle) batch(t *testing.T, commands string) (failed []string) {
	t.Helper()
	if commands == "" {
		return nil
	}
	file := filepath.Join(t.TempDir(), "commands")
	if err := os.WriteFile(file, []byte(commands), 0o644); err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	// There is no command of that name, and what it says of it ends the answer.
	end := fmt.Sprintf("FAILED end-%d: ", o.calls)
	if _, err := fmt.Fprintf(o.in, "batch\t%s\nend-%d\n", file, o.calls); err != nil {
		t.Fatalf("Java Paimon has ended: %v", err)
	}
	for {
		line, err := o.out.ReadString('\n')
		if err != nil {
			t.Fatalf("Java Paimon has ended: %v\n%s", err, strings.Join(failed, "\n"))
		}
		switch {
		case strings.HasPrefix(line, end):
			return failed
		case strings.HasPrefix(line, "FAILED ") && !strings.HasPrefix(line, "FAILED batch "):
			failed = append(failed, strings.TrimSuffix(line, "\n"))
		}
	}
}

// must is batch where every command must succeed.
func (o *oracle) must(t *testing.T, commands string) {
	t.Helper()
	for _, f := range o.batch(t, commands) {
		t.Errorf("Java: %s", f)
	}
}
