package alert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/smtp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/internal/errs"
)

// Webhook posts alerts to a URL.
type Webhook struct {
	URL string
	// Format is generic (the Alert as JSON), dingtalk or feishu (a text message
	// of a group robot).
	Format string
	// Secret signs messages to a robot that asks for it; "" does not.
	Secret string

	now func() time.Time
}

// NewWebhook checks the format.
func NewWebhook(address, format, secret string) (*Webhook, error) {
	if format == "" {
		format = "generic"
	}
	if format != "generic" && format != "dingtalk" && format != "feishu" {
		return nil, errs.Userf(errs.InvalidConfig, "alert webhook: the format %s is unknown; write generic, dingtalk or feishu", format)
	}
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errs.Userf(errs.InvalidConfig, "alert webhook: the url is no http or https address")
	}
	return &Webhook{URL: address, Format: format, Secret: secret, now: time.Now}, nil
}

// sign is HMAC-SHA256 in base64.
func sign(key, text string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text)) // never fails
	return base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// Send implements Notifier. Errors never show the URL, which holds a token.
func (h *Webhook) Send(ctx context.Context, a Alert) error {
	address := h.URL
	var body any = a
	switch h.Format {
	case "dingtalk":
		body = map[string]any{"msgtype": "text", "text": map[string]string{"content": a.String()}}
		if h.Secret != "" { // the signed text is "milliseconds\nsecret", by the secret
			ms := strconv.FormatInt(h.now().UnixMilli(), 10)
			u, err := url.Parse(address)
			if err != nil {
				return errs.Userf(errs.InvalidConfig, "send to dingtalk: the url is no address")
			}
			q := u.Query()
			q.Set("timestamp", ms)
			q.Set("sign", sign(h.Secret, ms+"\n"+h.Secret))
			u.RawQuery = q.Encode()
			address = u.String()
		}
	case "feishu":
		m := map[string]any{"msg_type": "text", "content": map[string]string{"text": a.String()}}
		if h.Secret != "" { // nothing is signed, by "seconds\nsecret"
			s := strconv.FormatInt(h.now().Unix(), 10)
			m["timestamp"], m["sign"] = s, sign(s+"\n"+h.Secret, "")
		}
		body = m
	}
	b, err := json.Marshal(body)
	if err != nil {
		return errs.Internalf("send to a webhook: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(b))
	if err != nil {
		return errs.Userf(errs.InvalidConfig, "send to %s: the url is no address", h.Format)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); asURLError(err, &u) {
			err = u.Err
		}
		return errs.New(errs.Unavailable, errs.KindNone, "send to a %s webhook: %w", h.Format, err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return errs.New(errs.Unavailable, errs.KindNone, "send to a %s webhook: %w", h.Format, err)
	}
	var code struct { // robots answer 200 to what they refuse
		ErrCode int    `json:"errcode"`
		ErrMsg  string `json:"errmsg"`
		Code    int    `json:"code"`
		Msg     string `json:"msg"`
	}
	robot := h.Format != "generic" && json.Unmarshal(reply, &code) == nil && (code.ErrCode != 0 || code.Code != 0)
	if resp.StatusCode/100 != 2 || robot {
		return errs.New(errs.Unavailable, errs.KindNone, "send to a %s webhook: it answered %s %s%s", h.Format, resp.Status, code.ErrMsg, code.Msg)
	}
	return nil
}

func asURLError(err error, to **url.Error) bool {
	u, ok := err.(*url.Error)
	if ok {
		*to = u
	}
	return ok
}

// Mail sends alerts by SMTP, with STARTTLS where the server offers it. A password
// is sent only over TLS, or to the same machine.
type Mail struct {
	Server   string // HOST:PORT
	From     string
	To       []string
	Username string // "" logs in as nobody
	Password string
}

// NewMail checks the addresses.
func NewMail(m Mail) (*Mail, error) {
	if _, _, err := net.SplitHostPort(m.Server); err != nil {
		return nil, errs.Userf(errs.InvalidConfig, "alert mail: the server %q is no HOST:PORT", m.Server)
	}
	for _, a := range append([]string{m.From}, m.To...) {
		if !strings.Contains(a, "@") || strings.ContainsAny(a, "\r\n <>") {
			return nil, errs.Userf(errs.InvalidConfig, "alert mail: %q is no address", a)
		}
	}
	if len(m.To) == 0 {
		return nil, errs.Userf(errs.InvalidConfig, "alert mail: the list to is empty")
	}
	return &m, nil
}

// text is the message with its headers.
func (m *Mail) text(a Alert) []byte {
	subject := a.Kind + " of pipeline " + a.Pipeline
	if a.Cleared {
		subject += " is over"
	}
	body := base64.StdEncoding.EncodeToString([]byte(a.String() + "\n" + a.Time.Format(time.RFC3339) + "\n"))
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: %s\r\nTo: %s\r\nSubject: %s\r\nDate: %s\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n",
		m.From, strings.Join(m.To, ", "), mime.QEncoding.Encode("utf-8", strings.Join(strings.Fields(subject), " ")), a.Time.Format(time.RFC1123Z))
	for len(body) > 76 {
		b.WriteString(body[:76] + "\r\n")
		body = body[76:]
	}
	b.WriteString(body + "\r\n")
	return b.Bytes()
}

// Send implements Notifier.
func (m *Mail) Send(ctx context.Context, a Alert) error {
	fail := func(err error) error {
		return errs.New(errs.Unavailable, errs.KindNone, "send a mail by %s: %w", m.Server, err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", m.Server)
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	if at, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(at); err != nil {
			return fail(err)
		}
	}
	host, _, _ := net.SplitHostPort(m.Server)
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return fail(err)
	}
	defer c.Close()
	if ok, _ := c.Extension("STARTTLS"); ok {
		if err := c.StartTLS(tlsConfig(host)); err != nil {
			return fail(err)
		}
	}
	if m.Username != "" {
		if err := c.Auth(smtp.PlainAuth("", m.Username, m.Password, host)); err != nil {
			return fail(err)
		}
	}
	if err := c.Mail(m.From); err != nil {
		return fail(err)
	}
	for _, to := range m.To {
		if err := c.Rcpt(to); err != nil {
			return fail(err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return fail(err)
	}
	if _, err := w.Write(m.text(a)); err != nil {
		return fail(err)
	}
	if err := w.Close(); err != nil {
		return fail(err)
	}
	return c.Quit()
}
