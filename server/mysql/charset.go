package mysql

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/metadata"
)

const (
	defaultCollation = 255 // utf8mb4_0900_ai_ci
	binaryCollation  = 63
)

// encodings are the character sets besides UTF-8 that clients may speak. The
// engine itself is UTF-8 throughout.
var encodings = map[string]encoding.Encoding{
	"latin1": charmap.Windows1252, "latin2": charmap.ISO8859_2, "latin5": charmap.ISO8859_9, "latin7": charmap.ISO8859_13,
	"greek": charmap.ISO8859_7, "hebrew": charmap.ISO8859_8, "cp850": charmap.CodePage850, "cp852": charmap.CodePage852,
	"cp866": charmap.CodePage866, "cp1250": charmap.Windows1250, "cp1251": charmap.Windows1251, "cp1256": charmap.Windows1256,
	"cp1257": charmap.Windows1257, "koi8r": charmap.KOI8R, "koi8u": charmap.KOI8U, "macroman": charmap.Macintosh,
	"tis620": charmap.Windows874, "gbk": simplifiedchinese.GBK, "gb2312": simplifiedchinese.GBK,
	"gb18030": simplifiedchinese.GB18030, "big5": traditionalchinese.Big5, "sjis": japanese.ShiftJIS, "cp932": japanese.ShiftJIS,
	"ujis": japanese.EUCJP, "eucjpms": japanese.EUCJP, "euckr": korean.EUCKR,
}

// transcoder translates between the client's character set and UTF-8. The zero
// value translates nothing.
type transcoder struct {
	// The collations that the rest was made from, "" for none.
	client, results string

	decode, encode encoding.Encoding // nil: UTF-8
	ascii          bool              // results are ASCII
	charset        uint16            // collation id of text in results, 0: the columns' own
	err            error             // a character set that cannot be spoken
	scratch        []byte
}

// use follows the session's settings.
func (t *transcoder) use(client, results string) {
	if t.client == client && t.results == results && client != "" {
		return
	}
	t.client, t.results, t.err = client, results, nil
	t.decode, _ = encodingOf(client)
	var ok bool
	if t.encode, ok = encodingOf(results); !ok {
		t.err = errs.Unsupportedf(-1, "results in the character set of collation %s; use SET NAMES utf8mb4", results)
	}
	t.ascii = strings.HasPrefix(results, "ascii_")
	t.charset = 0
	if results != "" && results != "binary" {
		t.charset = collationID(results)
	}
}

// encodingOf returns the encoding of a collation's character set, nil for
// UTF-8 and its subsets, and whether it can be spoken.
func encodingOf(collation string) (encoding.Encoding, bool) {
	if collation == "" || collation == "binary" {
		return nil, true
	}
	set, _, _ := strings.Cut(collation, "_")
	switch set {
	case "utf8mb4", "utf8mb3", "utf8":
		return nil, true
	case "ascii":
		return charmap.Windows1252, true
	}
	e, ok := encodings[set]
	return e, ok
}

// fromClient returns a text of the client in UTF-8.
func (t *transcoder) fromClient(b []byte) string {
	if t.decode == nil || isASCII(b) {
		return string(b)
	}
	u, err := t.decode.NewDecoder().Bytes(b)
	if err != nil {
		return string(b)
	}
	return string(u)
}

// putText appends a text as a length-encoded string of the client.
func (t *transcoder) putText(o []byte, s string) []byte {
	if t.encode == nil || isASCII(s) {
		return putStr(o, s)
	}
	return putStr(o, t.toClient([]byte(s)))
}

// toClient returns a text in the character set of results; what it lacks
// becomes a question mark, as in MySQL. The result is valid until the next
// call.
func (t *transcoder) toClient(b []byte) []byte {
	if t.encode == nil || isASCII(b) {
		return b
	}
	if !t.ascii {
		if out, err := t.encode.NewEncoder().Bytes(b); err == nil {
			return out
		}
	}
	t.scratch = t.scratch[:0]
	e := t.encode.NewEncoder()
	for len(b) > 0 {
		_, n := utf8.DecodeRune(b)
		x, err := e.Bytes(b[:n])
		if err != nil || t.ascii && n > 1 {
			x = []byte{'?'}
		}
		t.scratch = append(t.scratch, x...)
		b = b[n:]
	}
	return t.scratch
}

func isASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// collationID returns the number of a collation by which the protocol names
// it.
func collationID(name string) uint16 {
	switch name { // without a look into the table
	case "", "utf8mb4_0900_ai_ci":
		return defaultCollation
	case "binary":
		return binaryCollation
	}
	if c, ok := metadata.LookupCollation(name); ok && c.ID < 1<<16 {
		return uint16(c.ID)
	}
	return defaultCollation
}

// collationName returns the collation of a number, utf8mb4_0900_ai_ci for an
// unknown one, as MySQL does.
func collationName(id uint16) string {
	for _, c := range metadata.Collations() {
		if c.ID == uint64(id) {
			return c.Name
		}
	}
	return "utf8mb4_0900_ai_ci"
}
