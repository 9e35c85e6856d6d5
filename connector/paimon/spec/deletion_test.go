package spec

import (
	"encoding/hex"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

// TestDeletionVectors reads the format's two layouts, and refuses each of their
// bytes when it is another.
func TestDeletionVectors(t *testing.T) {
	for _, c := range []struct {
		file   string
		length int32
	}{
		{"010000001a5e43f2d03a300000010000000000020010000000010003000500f39291eb", 26},
		{"0100000026d1d339640100000000000000000000003a3000000100000000000200100000000100030005005a9e5d39", 46},
	} {
		file, err := hex.DecodeString(c.file)
		if err != nil {
			t.Fatal(err)
		}
		r := &IndexRange{DataFile: "data-1.parquet", Offset: 1, Length: c.length, Cardinality: Some[int64](3)}
		offset, length := r.DeletionBlock()
		block := file[offset:min(offset+length, int64(len(file)))]
		m, err := ReadDeletionVector(block, r)
		mask := make([]uint64, 1)
		if err != nil || m.Cardinality() != 3 || m.Mask(mask, 0, 64) != 3 || mask[0] != 1<<1|1<<3|1<<5 {
			t.Fatal(m, err, mask)
		}
		for i := range block {
			bad := append([]byte(nil), block...)
			bad[i] ^= 0x10
			if _, err := ReadDeletionVector(bad, r); errs.ClassOf(err) != errs.Corruption {
				t.Errorf("byte %d: %v", i, err)
			}
			if _, err := ReadDeletionVector(block[:i], r); errs.ClassOf(err) != errs.Corruption {
				t.Errorf("%d bytes: %v", i, err)
			}
		}
		other := *r
		other.Cardinality = Some[int64](4)
		if _, err := ReadDeletionVector(block, &other); errs.ClassOf(err) != errs.Corruption {
			t.Error(err)
		}
	}
}
