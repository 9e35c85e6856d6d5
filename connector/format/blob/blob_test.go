package blob

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// written is the start and the end of a file that Java Paimon 2.0.0 wrote: the
// empty value, ten bytes of 1, NULL.
var written = unhex("cf114e58" + "1000000000000000" + "537fdf03" +
	"cf114e58" + "01010101010101010101" + "1a00000000000000" + "15b5d22e" +
	"201435" + "03000000" + "01")

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func read(t testing.TB, data []byte) ([]string, error) {
	t.Helper()
	ctx := context.Background()
	m := fileio.NewMemory()
	if err := m.WriteFile(ctx, "/f.blob", data); err != nil {
		t.Fatal(err)
	}
	f, err := m.Open(ctx, "/f.blob")
	if err != nil {
		t.Fatal(err)
	}
	budget := memory.New("test", 64<<20)
	r, err := (Format{}).NewReader(ctx, f, format.ReadOptions{Path: "/f.blob", BatchRows: 2, Budget: budget,
		Columns: []format.Column{{Name: "b", Type: catalog.Type{Kind: catalog.Blob}}}})
	if err != nil {
		return nil, err
	}
	var out []string
	for {
		b, err := r.Next(ctx)
		if err != nil {
			r.Close()
			return nil, err
		}
		if b == nil {
			break
		}
		for i := range b.Len {
			if b.Cols[0].IsNull(i) {
				out = append(out, "NULL")
			} else {
				out = append(out, hex.EncodeToString(b.Cols[0].Bytes(i)))
			}
		}
	}
	if int64(len(out)) != r.Rows() {
		t.Errorf("%d rows, want %d", len(out), r.Rows())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
	return out, nil
}

func TestRead(t *testing.T) {
	got, err := read(t, written)
	if err != nil || strings.Join(got, " ") != " 01010101010101010101 NULL" {
		t.Fatalf("%q, %v", got, err)
	}
	// Every cut and every changed byte is an error, of a class that says so.
	for n := range written {
		if _, err := read(t, written[:n]); errs.ClassOf(err) != errs.Corruption && errs.ClassOf(err) != errs.Unsupported || !strings.Contains(err.Error(), "/f.blob") {
			t.Errorf("cut to %d: %v", n, err)
		}
	}
	for i := range written {
		bad := append([]byte(nil), written...)
		bad[i] ^= 0x10
		if got, err := read(t, bad); err == nil {
			t.Errorf("byte %d changed: %q", i, got)
		}
	}
	old := append([]byte(nil), written...)
	old[len(old)-6] = 0x37 // −2
	if _, err := read(t, old); errs.ClassOf(err) != errs.Unsupported {
		t.Errorf("a placeholder: %v", err)
	}
}

// FuzzRead: any bytes give rows or an error.
func FuzzRead(f *testing.F) {
	f.Add(written)
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := read(t, data); err != nil && errs.ClassOf(err) == errs.Internal {
			t.Error(err)
		}
	})
}
