package expr

import (
	"github.com/thermocline/thermocline/internal/vector"
)

// The functions in this file compare, hash and encode values of one type: for
// GROUP BY, DISTINCT, joins and sorting. Both sides must have the very same
// type (class, scale, collation): cast with Unify first. NULLs are equal to
// each other and come first; -0 equals 0; NaN equals itself and comes last;
// strings follow the type's collation, PAD SPACE included.

// AppendSortKey appends a byte string whose bytes.Compare order is the order of
// the values of t; equal values have equal keys. Every key is self-delimiting,
// so keys of several columns may be concatenated. For a descending column,
// invert the appended bytes.
func AppendSortKey(dst []byte, t Type, v *vector.Vec, row int) []byte {
	return appendSortKey(dst, t, v, row)
}

// Hash mixes the hashes of a column into h, one element a row that counts (the
// k-th is row sel[k], or k when sel is nil). Equal values have equal hashes.
// Start with a random seed a process in every element.
func Hash(t Type, v *vector.Vec, sel []uint16, h []uint64) { hashVec(t, v, sel, h) }

// Equal reports whether two values are equal, NULLs being equal to each other.
func Equal(t Type, a *vector.Vec, i int, b *vector.Vec, j int) bool {
	return Comparer(t)(a, i, b, j) == 0
}

// Comparer returns the three-way comparison of values of t.
func Comparer(t Type) func(a *vector.Vec, i int, b *vector.Vec, j int) int { return comparer(t) }

// Binary reports whether values of t are equal exactly when their vectors'
// payloads are (bytes, integers), so that a hash table may compare payloads.
func Binary(t Type) bool { return binaryEqual(t) }
