package expr

import (
	"time"

	"github.com/thermocline/thermocline/internal/vector"
)

// AppendText appends the value of a row as MySQL's text protocol shows it:
// doubles as MySQL prints them, decimals with all digits of their scale,
// temporal values with their fraction digits, timestamps in zone (nil: UTC),
// nested values and JSON as MySQL's JSON text. The row must not be NULL.
func AppendText(dst []byte, t Type, v *vector.Vec, row int, zone *time.Location) []byte {
	return appendText(dst, t, v, row, zone)
}
