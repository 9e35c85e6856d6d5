package testkit

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// ObjectStore is a private S3 store over a folder, with path-style addresses.
type ObjectStore struct {
	Endpoint  string // http://127.0.0.1:PORT
	AccessKey string
	SecretKey string
	Region    string
	Bucket    string // exists and is empty
	Dir       string // of the bucket: its objects are plain files there
}

// Env returns the environment by which the AWS SDK finds the store.
func (o *ObjectStore) Env() []string {
	return []string{"AWS_ENDPOINT_URL=" + o.Endpoint, "AWS_ACCESS_KEY_ID=" + o.AccessKey, "AWS_SECRET_ACCESS_KEY=" + o.SecretKey,
		"AWS_REGION=" + o.Region, "AWS_EC2_METADATA_DISABLED=true"}
}

// S3 starts a private versitygw for the test and stops it at the test's end.
// With flags of the posix backend other than --sidecar, such as --nometa, it
// runs with those instead.
func S3(t testing.TB, backend ...string) *ObjectStore {
	t.Helper()
	tool := Tool(t, "THERMOCLINE_VERSITYGW")
	dir, err := os.MkdirTemp("", "tcs3-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := &ObjectStore{AccessKey: "test", SecretKey: "testtest", Region: "us-east-1", Bucket: "lake", Dir: filepath.Join(dir, "data", "lake")}
	for _, d := range []string{o.Dir, filepath.Join(dir, "meta")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if len(backend) == 0 {
		backend = []string{"--sidecar", filepath.Join(dir, "meta")}
	}
	for attempt := 1; ; attempt++ { // another process may take the port first
		err := o.start(t, tool, append(append([]string{"posix"}, backend...), filepath.Join(dir, "data")), filepath.Join(dir, "log"))
		if err == nil {
			return o
		}
		if attempt == 3 {
			t.Fatal(err)
		}
	}
}

func (o *ObjectStore) start(t testing.TB, tool string, args []string, log string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	l.Close()
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(tool, append([]string{"--port", addr, "--quiet"}, args...)...)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+o.AccessKey, "ROOT_SECRET_KEY="+o.SecretKey)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := func() {
		cmd.Process.Kill()
		<-ended
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			break
		}
		select {
		case err := <-ended:
			text, _ := os.ReadFile(log)
			return fmt.Errorf("start versitygw: %v\n%s", err, text)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			stop()
			text, _ := os.ReadFile(log)
			return fmt.Errorf("start versitygw: it does not answer\n%s", text)
		}
	}
	t.Cleanup(stop)
	o.Endpoint = "http://" + addr
	return nil
}
