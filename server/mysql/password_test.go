package mysql

import (
	"encoding/hex"
	"strings"
	"testing"
)

// What crypt(3) of the GNU C library gives for "$5$rounds=N$salt", with the
// salts of SHA-crypt.txt that have at most 16 bytes.
func TestSHACryptVectors(t *testing.T) {
	for _, c := range []struct {
		salt, password string
		rounds         int
		want           string
	}{
		{"saltstring", "Hello world!", 5000, "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"},
		{"saltstringsaltst", "Hello world!", 10000, "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA"},
		{"toolongsaltstrin", "This is just a test", 5000, "Un/5jzAHMgOGZ5.mWJpuVolil07guHPvOW8mGRcvxa5"},
		{"short", "we have a short salt string but not a short password", 77777, "JiO1O3ZpDAxGJeaDIuqCoEFysAe1mZNJRs3pw0KQRd/"},
		{"asaltof16chars..", "a short string", 123456, "gP3VQ/6X7UUEW3HkBn2w1/Ptq2jxPyzV/cZKmF/wJvD"},
		{"roundstoolow", "the minimum number is still observed", 1000, "yfvwcWrQ8l/K0DAWyuPMDNHpIVlTQebY9l/gL972bIC"},
		{"anotherlongsalts", "a very much longer text to encrypt.  This one even stretches over morethan one line.", 1400, "Rx.j8H.h8HjEDGomFU8bDkXm3XIUnzyxf12oP84Bnq1"},
	} {
		if got := shaCrypt([]byte(c.password), []byte(c.salt), c.rounds); got != c.want {
			t.Errorf("shaCrypt(%q, %q, %d) = %s, want %s", c.password, c.salt, c.rounds, got, c.want)
		}
	}
}

func TestStoredHashes(t *testing.T) {
	// MySQL's manual, PASSWORD('mypass').
	if got := HashNative("mypass"); got != "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4" {
		t.Errorf("HashNative = %s", got)
	}
	h := HashSHA2("secret", []byte(strings.Repeat("s", 20)))
	if !checkSHA2(h, []byte("secret")) || checkSHA2(h, []byte("Secret")) || checkSHA2(h, nil) {
		t.Error("checkSHA2 is wrong")
	}
	// What a MySQL 9.7.4 stored.
	for password, stored := range map[string]string{
		"secret": "244124303041246E0649421656016B141B10496A53360250372D13657A42792F44414330472F414F51725448662F525266736B5A4A2F39623436354570657353377575315143",
		"p\u00e4ssw\u00f6rd with a much longer text than one digest has bytes": "24412430304124635D0C0C5A585D226408571F620A060B15630B1F536577426250566566784C71304862656C65413254626D47355644646E5A6D765561726961704B506F5239",
	} {
		b, _ := hex.DecodeString(stored)
		if !checkSHA2(string(b), []byte(password)) {
			t.Errorf("%q is refused", password)
		}
	}
	for _, bad := range []string{"", "$A$005$", "$A$000$" + h[7:], "$A$00z$" + h[7:], h + "x", "$B" + h[2:], h[:len(h)-1]} {
		if checkSHA2(bad, []byte("secret")) {
			t.Errorf("checkSHA2 accepts %q", bad)
		}
	}
	if _, ok := storedNative("*6C89"); ok {
		t.Error("short native hash is accepted")
	}
}
