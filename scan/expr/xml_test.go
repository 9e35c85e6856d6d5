package expr

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// xmlCase is a call that a MySQL answered; testdata/xml.py makes them.
type xmlCase struct {
	Fn       string    `json:"fn"`
	Args     []*string `json:"args"`
	Hex      *string   `json:"hex"`
	Warnings [][3]any  `json:"warnings"`
	Error    *[2]any   `json:"error"`
}

func (c xmlCase) String() string {
	s := c.Fn + "("
	for i, a := range c.Args {
		if i > 0 {
			s += ", "
		}
		if a == nil {
			s += "NULL"
		} else {
			s += fmt.Sprintf("%q", *a)
		}
	}
	return s + ")"
}

// xmlRefused are what is refused though MySQL answers it.
var xmlRefused = []string{"user variables ($@name)", "number() outside predicates", "names with characters beyond", "the number '",
	"processing instructions that end in", "unions of what is not a set", "truth of unions", " of NULL", "texts that are no numbers"}

// TestXML compares values, warnings and errors with MySQL's.
func TestXML(t *testing.T) {
	name := os.Getenv("THERMOCLINE_XML_CASES")
	if name == "" {
		name = "testdata/xml.jsonl.gz"
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	cases, refused := 0, 0
	for lines.Scan() {
		var c xmlCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases++
		why, unsupported := c.run()
		if unsupported {
			refused++
		}
		if why != "" {
			t.Errorf("%s\n  %s", c, why)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if cases == 0 || refused*20 > cases {
		t.Errorf("%d of %d cases refused", refused, cases)
	}
	t.Logf("%d cases, %d refused by name", cases, refused)
}

func (c xmlCase) run() (why string, unsupported bool) {
	ctx := NewContext()
	var args []Expr
	for _, a := range c.Args {
		if a == nil {
			args = append(args, Literal(NullValue()))
		} else {
			args = append(args, Literal(StringValue(*a, "")))
		}
	}
	e, err := Call(ctx, c.Fn, args...)
	var v Value
	if err == nil {
		v, err = EvalConst(ctx, e)
	}
	if errs.ClassOf(err) == errs.Unsupported {
		for _, r := range xmlRefused {
			if strings.Contains(err.Error(), r) {
				return "", true
			}
		}
	}
	if c.Error != nil {
		if err == nil || !strings.Contains(err.Error(), c.Error[1].(string)) {
			return fmt.Sprintf("error %v, want %v", err, c.Error[1]), false
		}
		return "", false
	}
	if err != nil {
		return err.Error(), false
	}
	var got, want []string
	for _, w := range ctx.Warnings.List() {
		got = append(got, w.Level+" "+w.Message)
	}
	for _, w := range c.Warnings {
		want = append(want, fmt.Sprint(w[0], " ", w[2]))
	}
	switch {
	case (c.Hex == nil) != v.IsNull():
		return fmt.Sprintf("NULL: %t", v.IsNull()), false
	case c.Hex != nil:
		b, err := hex.DecodeString(*c.Hex)
		if err != nil {
			return err.Error(), false
		}
		if !bytes.Equal(b, v.Vec.Bytes(0)) {
			return fmt.Sprintf("%q, want %q", v.Vec.Bytes(0), b), false
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		return fmt.Sprintf("warnings %q, want %q", got, want), false
	}
	return "", false
}

// FuzzXML scans any text and computes any XPath over it: nothing may panic, and what
// UPDATEXML leaves alone stays.
func FuzzXML(f *testing.F) {
	f.Add("<a b='1'>x<c/></a>", "//a[@b=1]/c")
	f.Add("<!DOCTYPE a><?x ?><a><![CDATA[x]]></a>", "count(//*)+sum(a)")
	f.Add("<!x/>", "(/)//b|a[last()]")
	f.Fuzz(func(t *testing.T, xml, path string) {
		if len(xml) > 1000 || len(path) > 100 {
			return
		}
		args := []Expr{Literal(StringValue(xml, "")), Literal(StringValue(path, "")), Literal(StringValue("new", ""))}
		for n, name := range []string{"EXTRACTVALUE", "UPDATEXML"} {
			ctx := NewContext()
			e, err := Call(ctx, name, args[:n+2]...)
			if err == nil {
				_, err = EvalConst(ctx, e)
			}
			if c := errs.ClassOf(err); err != nil && c != errs.User && c != errs.Unsupported {
				t.Errorf("%s(%q, %q): %v", name, xml, path, err)
			}
		}
	})
}

// TestXMLBounds: what would take memory without bounds is refused by name.
func TestXMLBounds(t *testing.T) {
	for _, c := range [][2]string{
		{strings.Repeat("<a/>", 1<<20+1), "a"},
		{"<a/>", strings.Repeat("a/", 1<<16) + "a"},
		{"<a/>", strings.Repeat("(", 300) + "a" + strings.Repeat(")", 300)},
		{strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100), strings.Repeat("//a", 9)},
	} {
		ctx := NewContext()
		e, err := Call(ctx, "EXTRACTVALUE", Literal(StringValue(c[0], "")), Literal(StringValue(c[1], "")))
		if err == nil {
			_, err = EvalConst(ctx, e)
		}
		if errs.ClassOf(err) != errs.Unsupported {
			t.Errorf("EXTRACTVALUE of %d bytes by an XPath of %d: %v, want a refusal", len(c[0]), len(c[1]), err)
		}
	}
}
