package mysql

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/testkit"
)

// mariadbCLI returns the path of MariaDB's command line client.
func mariadbCLI(t *testing.T) string {
	t.Helper()
	p, err := exec.LookPath("mariadb")
	if err != nil {
		if os.Getenv("THERMOCLINE_TOOLS") == "required" {
			t.Fatal("no MariaDB client is installed: run make deps")
		}
		t.Skip("needs MariaDB's command line client: run make deps (Debian: apt-get install mariadb-client)")
	}
	return p
}

func TestMariaDBCommandLine(t *testing.T) {
	cli := mariadbCLI(t)
	_, _, addr := start(t, nil)
	host, port, _ := strings.Cut(addr, ":")
	run := func(args ...string) (string, error) {
		cmd := exec.Command(cli, append([]string{"--no-defaults", "-h", host, "-P", port, "--batch"}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-uroot", "--skip-ssl", "-e", "SELECT 1"}, "1\n1\n"},
		{[]string{"-uroot", "--skip-ssl", "-e", "SELECT 1; SELECT NUMBERS 2"}, "1\n1\nn\n0\n1\n"},
		{[]string{"-unat", "-psecret", "--skip-ssl", "-e", "SELECT 1"}, "1\n1\n"},
		{[]string{"-unat", "-psecret", "--ssl", "-e", "SELECT 1"}, "1\n1\n"},
		{[]string{"-unat", "-psecret", "--compress", "--skip-ssl", "-e", "SELECT NUMBERS 3"}, "n\n0\n1\n2\n"},
		{[]string{"-usha", "-psecret", "--ssl", "-e", "SELECT 1"}, "1\n1\n"},
		{[]string{"-usha", "-psecret", "--skip-ssl", "-e", "SELECT 1"}, "1\n1\n"},
		{[]string{"-uroot", "--skip-ssl", "-e", "USE other; SELECT DATABASE()"}, "DATABASE()\nother\n"},
	} {
		if out, err := run(c.args...); err != nil || out != c.want {
			t.Errorf("%v: %v %q, want %q", c.args, err, out, c.want)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-unat", "-pwrong", "--skip-ssl", "-e", "SELECT 1"},
			"ERROR 1045 (28000): Access denied for user 'nat'@'127.0.0.1' (using password: YES)\n"},
		{[]string{"-uroot", "--skip-ssl", "-e", "SELECT error"},
			"--------------\nSELECT error\n--------------\n\nERROR 1054 (42S22) at line 1: Unknown column 'error' in 'field list'\n"},
		{[]string{"-uroot", "--skip-ssl", "nope", "-e", "SELECT 1"}, "ERROR 1049 (42000): Unknown database 'nope'\n"},
	} {
		if out, err := run(c.args...); err == nil || out != c.want {
			t.Errorf("%v: %v %q, want %q", c.args, err, out, c.want)
		}
	}
}

const pymysqlScript = `
import sys, pymysql
host, port = sys.argv[1], int(sys.argv[2])
def connect(**kw):
    kw = {"host": host, "port": port, "user": "nat", "password": "secret", "database": "shop", **kw}
    return pymysql.connect(**kw)
for kw in ({}, {"ssl": {"check_hostname": False}}, {"user": "sha", "ssl": {"check_hostname": False}}, {"user": "root", "password": ""},
           {"autocommit": True}, {"charset": "latin1"}):
    c = connect(**kw)
    with c.cursor() as cur:
        cur.execute("SELECT 1")
        assert cur.fetchall() == ((1,),), kw
    c.ping()
    c.close()
c = connect(client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS, max_allowed_packet=1 << 26)
with c.cursor() as cur:
    cur.execute("SELECT NUMBERS 5000")
    assert [r[0] for r in cur.fetchall()] == list(range(5000))
    cur.execute("SELECT BYTES 17000000")
    assert len(cur.fetchone()[0]) == 17000000
    cur.execute("SELECT 1; SELECT NUMBERS 2")
    assert cur.fetchall() == ((1,),) and cur.nextset() and cur.fetchall() == ((0,), (1,)) and not cur.nextset()
    assert cur.execute("INSERT x") == 3 and cur.lastrowid == 77
    try:
        cur.execute("SELECT error")
        assert False
    except pymysql.err.OperationalError as e:
        assert e.args == (1054, "Unknown column 'error' in 'field list'"), e.args
    cur.execute("USE other")
    cur.execute("SELECT DATABASE()")
    assert cur.fetchone() == ("other",)
c.select_db("third")
c.close()
c = connect(cursorclass=pymysql.cursors.SSCursor)
with c.cursor() as cur:
    cur.execute("SELECT NUMBERS 3")
    assert list(cur) == [(0,), (1,), (2,)]
c.close()
for kw, code in (({"password": "wrong"}, 1045), ({"database": "nope"}, 1049), ({"user": "nobody"}, 1045)):
    try:
        connect(**kw)
        assert False
    except pymysql.err.OperationalError as e:
        assert e.args[0] == code, e.args
print("ok")
`

func TestPyMySQL(t *testing.T) {
	python := testkit.Tool(t, "THERMOCLINE_PYMYSQL")
	_, _, addr := start(t, nil)
	host, port, _ := strings.Cut(addr, ":")
	out, err := exec.Command(python, "-c", pymysqlScript, host, port).CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// Logins as clients were recorded to send them: capabilities, collation,
// method, attributes.
func TestRecordedLogins(t *testing.T) {
	dir := testkit.Shared(t, "fixtures/client-traffic")
	names := map[string]uint32{"LONG_PASSWORD": capLongPassword, "FOUND_ROWS": capFoundRows, "LONG_FLAG": capLongFlag,
		"CONNECT_WITH_DB": capConnectWithDB, "ODBC": capODBC, "LOCAL_FILES": 1 << 7, "IGNORE_SPACE": capIgnoreSpace,
		"PROTOCOL_41": capProtocol41, "INTERACTIVE": capInteractive, "IGNORE_SIGPIPE": capIgnoreSigpipe, "TRANSACTIONS": capTransactions,
		"RESERVED": capReserved, "SECURE_CONNECTION": capSecure, "MULTI_STATEMENTS": capMultiStmts, "MULTI_RESULTS": capMultiResults,
		"PS_MULTI_RESULTS": capPSMultiResults, "PLUGIN_AUTH": capPluginAuth, "CONNECT_ATTRS": capConnectAttrs,
		"PLUGIN_AUTH_LENENC": capLenencAuth, "CAN_HANDLE_EXPIRED_PASSWORDS": capExpiredPass, "SESSION_TRACK": capSessionTrack,
		"DEPRECATE_EOF": capDeprecateEOF, "QUERY_ATTRIBUTES": capQueryAttrs}
	type login struct {
		Command      string
		Charset      byte
		Capabilities []string
		DB, Plugin   string
		Attributes   map[string]string
	}
	_, f, addr := start(t, nil)
	seen := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(b) {
			var l login
			if json.Unmarshal(line, &l) != nil || l.Command != "LOGIN" {
				continue
			}
			key := fmt.Sprint(l.Charset, l.Capabilities, l.DB != "", l.Plugin, len(l.Attributes))
			if seen[key] {
				continue
			}
			seen[key] = true
			caps := uint32(0)
			for _, n := range l.Capabilities {
				bit, ok := names[n]
				if !ok {
					t.Fatalf("capability %s", n)
				}
				caps |= bit
			}
			r := &rawClient{t: t, nc: dial(t, addr), caps: caps}
			_, r.scramble, _ = readGreeting(t, r.read())
			p := put32(put32(nil, caps), 1<<24)
			p = append(append(p, l.Charset), make([]byte, 23)...)
			p = append(p, "nat\x00"...)
			answer := nativeAnswer("secret", r.scramble)
			if l.Plugin == methodSHA2 {
				answer = make([]byte, 32) // for another method than the account's
			}
			p = append(append(p, byte(len(answer))), answer...)
			if caps&capConnectWithDB != 0 {
				p = append(append(p, l.DB...), 0)
			}
			if l.Plugin != "" {
				p = append(append(p, l.Plugin...), 0)
			}
			if len(l.Attributes) > 0 {
				var all []byte
				for k, v := range l.Attributes {
					all = putStr(putStr(all, k), v)
				}
				p = putStr(p, all)
			}
			r.write(p)
			q := r.read()
			if q[0] == authSwitch {
				r.write(nativeAnswer("secret", q[2+len(methodNative):][:20]))
				q = r.read()
			}
			if q[0] != 0 {
				t.Errorf("%s: %+v: %q", filepath.Base(path), l, q)
				continue
			}
			f.mu.Lock()
			o := f.all[f.ids.Load()].o
			f.mu.Unlock()
			if o.Database != l.DB || len(o.Attributes) != len(l.Attributes) || o.Collation != collationName(uint16(l.Charset)) ||
				o.FoundRows != (caps&capFoundRows != 0) {
				t.Errorf("%s: %+v: %+v", filepath.Base(path), l, o)
			}
			r.send(comQuit)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) < 30 {
		t.Errorf("only %d different logins", len(seen))
	}
}
