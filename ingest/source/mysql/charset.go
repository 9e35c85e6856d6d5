package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/thermocline/thermocline/internal/errs"
)

// transcoder turns text of one character set into UTF-8. It appends to dst and
// returns an error for bytes that are no text of the set.
type transcoder func(dst, src []byte) ([]byte, error)

// charsets are the conversions known here. Single-byte sets are not among them:
// their 256 characters are asked of the server, which is exact by definition.
var charsets = map[string]transcoder{
	"ucs2":    utf16BE,
	"utf16":   utf16BE,
	"utf16le": utf16LE,
	"utf32":   utf32BE,
	"gbk":     viaText(simplifiedchinese.GBK),
	"gb2312":  viaText(simplifiedchinese.GBK), // EUC-CN is the part of GBK that the server accepts
	"gb18030": viaText(simplifiedchinese.GB18030),
	"big5":    viaText(traditionalchinese.Big5),
	"sjis":    viaText(japanese.ShiftJIS),
	"cp932":   viaText(japanese.ShiftJIS),
	"ujis":    viaText(japanese.EUCJP),
	"eucjpms": viaText(japanese.EUCJP),
	"euckr":   viaText(korean.EUCKR),
}

// singleByte are the character sets of one byte a character.
var singleByte = map[string]bool{"latin1": true, "latin2": true, "latin5": true, "latin7": true, "cp1250": true, "cp1251": true, "cp1256": true,
	"cp1257": true, "cp850": true, "cp852": true, "cp866": true, "koi8r": true, "koi8u": true, "greek": true, "hebrew": true, "tis620": true,
	"armscii8": true, "geostd8": true, "dec8": true, "hp8": true, "swe7": true, "keybcs2": true, "macce": true, "macroman": true}

// viaText wraps an encoding of x/text. Its replacement character, where the
// input has none, means bytes that are no text.
func viaText(e encoding.Encoding) transcoder {
	return func(dst, src []byte) ([]byte, error) {
		out, err := e.NewDecoder().Bytes(src)
		if err != nil {
			return dst, err
		}
		if strings.ContainsRune(string(out), utf8.RuneError) {
			return dst, fmt.Errorf("the bytes %x are no text of the character set", clip(src))
		}
		return append(dst, out...), nil
	}
}

func clip(b []byte) []byte {
	if len(b) > 32 {
		return b[:32]
	}
	return b
}

func utf16BE(dst, src []byte) ([]byte, error) { return utf16Any(dst, src, 0) }
func utf16LE(dst, src []byte) ([]byte, error) { return utf16Any(dst, src, 1) }

func utf16Any(dst, src []byte, little int) ([]byte, error) {
	if len(src)%2 != 0 {
		return dst, fmt.Errorf("the bytes %x are no UTF-16 text", clip(src))
	}
	unit := func(i int) rune { return rune(src[i+little])<<8 | rune(src[i+1-little]) }
	for i := 0; i < len(src); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) {
			if i+3 >= len(src) {
				return dst, fmt.Errorf("the bytes %x end inside a character", clip(src))
			}
			r = utf16.DecodeRune(r, unit(i+2))
			if r == utf8.RuneError {
				return dst, fmt.Errorf("the bytes %x are no UTF-16 text", clip(src))
			}
			i += 2
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, nil
}

func utf32BE(dst, src []byte) ([]byte, error) {
	if len(src)%4 != 0 {
		return dst, fmt.Errorf("the bytes %x are no UTF-32 text", clip(src))
	}
	for i := 0; i < len(src); i += 4 {
		r := rune(src[i])<<24 | rune(src[i+1])<<16 | rune(src[i+2])<<8 | rune(src[i+3])
		if !utf8.ValidRune(r) {
			return dst, fmt.Errorf("the bytes %x are no UTF-32 text", clip(src))
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, nil
}

// byteTable makes a transcoder of a single-byte set from its 256 characters.
func byteTable(chars [256][]byte) transcoder {
	return func(dst, src []byte) ([]byte, error) {
		for _, b := range src {
			dst = append(dst, chars[b]...)
		}
		return dst, nil
	}
}

// transcoders resolves the character sets of columns; the server is asked for
// single-byte ones, once each.
type transcoders struct {
	mu    sync.Mutex
	known map[string]transcoder
}

func newTranscoders() *transcoders { return &transcoders{known: map[string]transcoder{}} }

// load makes sure that the set is known. A nil transcoder means UTF-8.
func (t *transcoders) load(ctx context.Context, s *Source, q queryer, charset string) error {
	if isUTF8(charset) || charsets[charset] != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[charset] != nil {
		return nil
	}
	if !singleByte[charset] {
		return errs.Unsupportedf(-1, "the character set %s", charset)
	}
	// No text contains characters above 0x7F but as literals of the set itself.
	parts := make([]string, 256)
	for i := range parts {
		parts[i] = fmt.Sprintf("CONVERT(_%s X'%02X' USING utf8mb4)", charset, i)
	}
	var chars [256][]byte
	dest := make([]any, 256)
	for i := range dest {
		dest[i] = &chars[i]
	}
	if err := q.QueryRowContext(ctx, "SELECT "+strings.Join(parts, ", ")).Scan(dest...); err != nil && err != sql.ErrNoRows {
		return s.fault("read the character set "+charset, err)
	}
	t.known[charset] = byteTable(chars)
	return nil
}

// get returns the transcoder of a loaded set, nil for UTF-8.
func (t *transcoders) get(charset string) transcoder {
	if isUTF8(charset) {
		return nil
	}
	if c := charsets[charset]; c != nil {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[charset]
}
