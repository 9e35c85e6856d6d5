package expr

import (
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// DATE_FORMAT takes patterns of Flink's, told by their year of four letters.
func TestDateFormatOfJava(t *testing.T) {
	ctx := NewContext()
	at := Literal(DateTimeValue(1771934596_123456, 6))
	for pattern, want := range map[string]string{
		"yyyy-MM-dd": "2026-02-24", "yyyyMMdd": "20260224", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS": "2026-02-24T12:03:16.123456", "d/M/yyyy h a": "24/2/2026 12 PM",
		"EEEE, MMMM yyyy": "Tuesday, February 2026", "''yyyy": "'2026", "%Y yyyy": "2026 yyyy", "MM-dd": "MM-dd", "week": "week",
	} {
		x, err := Call(ctx, "DATE_FORMAT", at, Literal(StringValue(pattern, "")))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		v, err := x.Eval(ctx, &vector.Batch{Len: 1, Seq: -1})
		if err != nil || v.String(0) != want {
			t.Errorf("%s: %q %v, want %q", pattern, v.String(0), err, want)
		}
	}
	for pattern, kind := range map[string]errs.Kind{"yyyy-MM-dd HH:mm:ss.SSS": errs.NotSupported, "yyyy G": errs.NotSupported, "yyyy 'open": errs.WrongArguments} {
		if _, err := Call(ctx, "DATE_FORMAT", at, Literal(StringValue(pattern, ""))); !errs.Is(err, kind) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
