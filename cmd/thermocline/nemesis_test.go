package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
)

// TestNemesis is a short run of make nemesis: tables of many shapes change while
// the process of their pipeline is killed, their MariaDB restarted, connections
// are cut and the object store fails.
func TestNemesis(t *testing.T) {
	testkit.NeedMariaDB(t)
	args := []string{"run", "./benchmarks/endurance", "nemesis", "--binary", binary(t), "--kills", "4", "--restarts", "1", "--rate", "200", "--rows", "2000", "--alter", "2s", "--tables", "plain,ci,app,moves,part,dyn,dv,ddl_1,bank,filtered",
		"--seed", "1", "--dir", filepath.Join(t.TempDir(), "run"), "--versitygw", testkit.Tool(t, "THERMOCLINE_VERSITYGW")}
	cmd := exec.Command("go", args...)
	cmd.Dir = testkit.Root()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "every row as it must be") {
		t.Fatalf("%v\n%s", err, out)
	}
}
