package expr

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// mostBitBytes is the longest binary string whose bits are aggregated, as in MySQL.
const mostBitBytes = 511

// newBytesBitAggregate is BIT_AND, BIT_OR or BIT_XOR of binary strings: a binary
// string of their length, of which all must be. Without a row it has the declared
// length, all bits set for BIT_AND and none for the others.
func newBytesBitAggregate(name string, x Expr) (Aggregate, error) {
	t := x.Type()
	n := t.toldBytes()
	if n > mostBitBytes {
		return nil, bitArgumentTooLong()
	}
	out := TBytes(n).NotNull()
	out.Told = t.Told
	out.Told.Null = false
	return &aggregate{name: name, typ: out.OfExpression(), args: []Expr{x}, state: func(*Context) State { return &bytesBitState{name: name, length: n} }}, nil
}

func bitArgumentTooLong() error {
	return errs.Userf(errs.LongBitOperand, "Aggregate bitwise functions cannot accept arguments longer than %d bytes; consider using the SUBSTRING() function", mostBitBytes)
}

// bytesBitState keeps one string a group, nil before the first row.
type bytesBitState struct {
	name   string
	length int // of the result without rows
	values [][]byte
	size   int64
}

// Grow implements State.
func (s *bytesBitState) Grow(n int) { s.values = growTo(s.values, n) }

// Bytes implements State.
func (s *bytesBitState) Bytes() int64 { return s.size + int64(cap(s.values))*24 }

func (s *bytesBitState) add(g int, x []byte) error {
	have := s.values[g]
	switch {
	case have == nil:
		if len(x) > mostBitBytes {
			return bitArgumentTooLong()
		}
		s.values[g] = append(make([]byte, 0, max(len(x), 1)), x...)
		s.size += int64(cap(s.values[g]))
		return nil
	case len(have) != len(x):
		return errs.Userf(errs.BitLength, "Binary operands of bitwise operators must be of equal length")
	}
	for i, c := range x {
		switch s.name {
		case "BIT_AND":
			have[i] &= c
		case "BIT_OR":
			have[i] |= c
		default:
			have[i] ^= c
		}
	}
	return nil
}

// Update implements State.
func (s *bytesBitState) Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error {
	v := args[0]
	for k := range n {
		if i := rowOf(sel, k); !v.IsNull(i) {
			if err := s.add(int(groupOf(groups, k)), v.Bytes(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Merge implements State.
func (s *bytesBitState) Merge(other State, to []uint32) error {
	for g, x := range other.(*bytesBitState).values {
		if x != nil {
			if err := s.add(mapped(to, g), x); err != nil {
				return err
			}
		}
	}
	return nil
}

// Result implements State.
func (s *bytesBitState) Result(from, to int) (*vector.Vec, error) {
	out := vector.NewFlat(vector.Str, to-from)
	var none []byte
	for g := from; g < to; g++ {
		x := s.values[g]
		if x == nil {
			if none == nil {
				none = make([]byte, s.length)
				for i := range none {
					if s.name == "BIT_AND" {
						none[i] = 0xFF
					}
				}
			}
			x = none
		}
		out.SetBytes(g-from, x)
	}
	return out, nil
}

// Unload implements State.
func (s *bytesBitState) Unload() ([]uint32, []*vector.Vec) {
	var of []uint32
	col := vector.New(vector.Str, len(s.values))
	for g, x := range s.values {
		if x != nil {
			of = append(of, uint32(g))
			col.AppendBytes(x)
		}
	}
	if of == nil {
		return nil, nil
	}
	return of, []*vector.Vec{col}
}

// Load implements State.
func (s *bytesBitState) Load(groups []uint32, cols []*vector.Vec) error {
	for k, g := range groups {
		if err := s.add(int(g), cols[0].Bytes(k)); err != nil {
			return err
		}
	}
	return nil
}
