package alert

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/ingest"
)

type recorder struct {
	got  []string
	fail bool
}

func (r *recorder) Send(_ context.Context, a Alert) error {
	if r.fail {
		return errors.New("no network")
	}
	mark := "+"
	if a.Cleared {
		mark = "-"
	}
	r.got = append(r.got, mark+a.Kind+" "+a.Pipeline+" "+a.Table)
	return nil
}

var quiet = slog.New(slog.DiscardHandler)

// TestHysteresis has a lag around the limit, a flapping source, a stopped table.
func TestHysteresis(t *testing.T) {
	r := &recorder{}
	w := NewWatcher(Rules{}, []Notifier{r}, quiet)
	now := time.Now()
	look := func(seconds int, change func(p *ingest.Status)) {
		for range seconds / 10 {
			now = now.Add(10 * time.Second)
			p := ingest.Status{Name: "p", State: ingest.Streaming, Tables: []ingest.TableStatus{{Table: "d.t", Phase: "stream"}}}
			change(&p)
			w.Look(context.Background(), now, []ingest.Status{p})
		}
	}
	want := func(list ...string) {
		t.Helper()
		if !slices.Equal(r.got, list) {
			t.Errorf("%q, want %q", r.got, list)
		}
		r.got = nil
	}
	lag := func(d time.Duration) func(*ingest.Status) { return func(p *ingest.Status) { p.Behind = d } }
	look(50, lag(6*time.Minute))
	look(10, lag(time.Second)) // it did not last
	look(60, lag(6*time.Minute))
	want()
	look(60, lag(6*time.Minute))
	want("+lag p ")
	look(300, lag(4*time.Minute)) // below the limit, above its half
	look(30, lag(time.Second))
	look(30, lag(4*time.Minute))
	look(60, lag(time.Second))
	want()
	look(30, lag(time.Second))
	want("-lag p ")
	for range 20 { // reconnecting now and then is nobody's business
		look(40, func(p *ingest.Status) { p.State = ingest.Reconnecting })
		look(20, lag(0))
	}
	want()
	look(120, func(p *ingest.Status) { p.State = ingest.Reconnecting })
	want("+unreachable p ")
	look(120, func(p *ingest.Status) { p.State, p.Retention = ingest.Failed, time.Hour; p.Tables[0].Phase = "stopped" })
	slices.Sort(r.got)
	want("+failed p ", "+retention p ", "+table-stopped p d.t", "-unreachable p ")
	// Paused: all is over. What cannot be sent waits.
	r.fail = true
	look(120, func(p *ingest.Status) { p.State = ingest.Paused })
	want()
	r.fail = false
	look(10, func(p *ingest.Status) { p.State = ingest.Paused })
	slices.Sort(r.got)
	want("-failed p ", "-retention p ", "-table-stopped p d.t")
	if len(w.states) != 0 {
		t.Errorf("%d states stay", len(w.states))
	}
}

var example = Alert{Pipeline: "p", Table: "d.t", Kind: "table-stopped", Message: "the table d.t is not followed any more: 列", Time: time.Unix(1_700_000_000, 0).UTC()}

func TestWebhooks(t *testing.T) {
	var body map[string]any
	var query, reply string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body = nil
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		query = r.URL.RawQuery
		io.WriteString(w, reply)
	}))
	defer srv.Close()
	for _, c := range []struct{ format, secret, reply, want, query, fault string }{
		{"", "", "", `{"alert":"table-stopped","cleared":false,"message":"the table d.t is not followed any more: 列","pipeline":"p","table":"d.t","time":"2023-11-14T22:13:20Z"}`, "token=x", ""},
		{"dingtalk", "", `{"errcode":0}`, `{"msgtype":"text","text":{"content":"Thermocline: pipeline p: the table d.t is not followed any more: 列"}}`, "token=x", ""},
		{"feishu", "", `{"code":0}`, `{"content":{"text":"Thermocline: pipeline p: the table d.t is not followed any more: 列"},"msg_type":"text"}`, "token=x", ""},
		{"dingtalk", "SEC1", `{"errcode":310000,"errmsg":"sign not match"}`, "", "sign=", "sign not match"},
		{"feishu", "SEC1", `{"code":19021,"msg":"sign match fail"}`, "", "token=x", "sign match fail"},
	} {
		reply = c.reply
		h, err := NewWebhook(srv.URL+"/robot?token=x", c.format, c.secret)
		if err != nil {
			t.Fatal(err)
		}
		h.now = func() time.Time { return time.Unix(1_700_000_000, 0) }
		err = h.Send(context.Background(), example)
		if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v", c.format, err)
		}
		got, _ := json.Marshal(body)
		if c.want != "" && string(got) != c.want || !strings.Contains(query, c.query) {
			t.Errorf("%s: %s %s", c.format, got, query)
		}
	}
	srv.Close()
	h, _ := NewWebhook(srv.URL+"/robot?token=x", "", "")
	if err := h.Send(context.Background(), example); err == nil || strings.Contains(err.Error(), "token") {
		t.Errorf("the token is shown: %v", err)
	}
	for _, bad := range [][2]string{{"ftp://x/", ""}, {"https://x/", "slack"}} {
		if _, err := NewWebhook(bad[0], bad[1], ""); err == nil {
			t.Error(bad)
		}
	}
}

// TestMail speaks to a small SMTP server.
func TestMail(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		defer c.Close()
		var all strings.Builder
		in := bufio.NewReader(c)
		fmt.Fprint(c, "220 hi\r\n")
		for data := false; ; {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			all.WriteString(line)
			switch {
			case data && line == ".\r\n":
				data = false
				fmt.Fprint(c, "250 ok\r\n")
			case data:
			case strings.HasPrefix(line, "DATA"):
				data = true
				fmt.Fprint(c, "354 go\r\n")
			case strings.HasPrefix(line, "QUIT"):
				fmt.Fprint(c, "221 bye\r\n")
			default:
				fmt.Fprint(c, "250 ok\r\n")
			}
		}
		got <- all.String()
	}()
	m, err := NewMail(Mail{Server: l.Addr().String(), From: "lake@example.com", To: []string{"a@example.com", "b@example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Send(context.Background(), example); err != nil {
		t.Fatal(err)
	}
	text := <-got
	body := base64.StdEncoding.EncodeToString([]byte(example.String()))[:40]
	for _, want := range []string{"MAIL FROM:<lake@example.com>", "RCPT TO:<b@example.com>", "Subject: table-stopped of pipeline p\r\n", body} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, bad := range []Mail{{Server: "x", From: "a@b", To: []string{"a@b"}}, {Server: "x:25", From: "a@b\r\nBcc: c@d", To: []string{"a@b"}}, {Server: "x:25", From: "a@b"}} {
		if _, err := NewMail(bad); err == nil {
			t.Error(bad)
		}
	}
}
