package wireclient

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Server is a thermocline process.
type Server struct {
	Address string // of the MySQL port
	HTTP    string
	cmd     *exec.Cmd
}

// Start starts binary on free ports with further flags, and waits until it answers.
func Start(binary, warehouse, dataDir string, env []string, args ...string) (*Server, error) {
	s := &Server{}
	for _, a := range []*string{&s.Address, &s.HTTP} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		*a = l.Addr().String()
		l.Close()
	}
	args = append([]string{"serve", "--warehouse", warehouse, "--data-dir", dataDir, "--mysql-listen", s.Address, "--http-listen", s.HTTP}, args...)
	s.cmd = exec.Command(binary, args...)
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	c, err := Dial(s.Address, "", 30*time.Second)
	if err != nil {
		_ = s.cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("the server does not answer: %w", err), s.cmd.Wait())
	}
	return s, c.Close()
}

// Stop ends the process.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// CPU returns the processor time that the process has used, user and system. The
// kernel counts in hundredths of a second.
func (s *Server) CPU() time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	sys, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+sys) * 10 * time.Millisecond
}

// Resident returns the resident bytes now and at most so far.
func (s *Server) Resident() (now, most int64) {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			now = n << 10
		case "VmHWM:":
			most = n << 10
		}
	}
	return now, most
}
