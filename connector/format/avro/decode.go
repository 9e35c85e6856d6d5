package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/thermocline/thermocline/internal/vector"
)

// cursor decodes Avro's binary encoding. After an error all methods return zero
// values.
type cursor struct {
	b   []byte
	at  int
	err error
	// spend pays for n bytes of memory that a value takes; nil is free.
	spend func(n int64) error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// long reads a zigzag varint.
func (c *cursor) long() int64 {
	if c.err != nil {
		return 0
	}
	if c.at < len(c.b) {
		if b := c.b[c.at]; b < 0x80 {
			c.at++
			return int64(b>>1) ^ -int64(b&1)
		}
	}
	v, n := binary.Varint(c.b[c.at:])
	if n <= 0 {
		c.fail("a number at byte %d does not end", c.at)
		return 0
	}
	c.at += n
	return v
}

// take returns the next n bytes.
func (c *cursor) take(n int64) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > int64(len(c.b)-c.at) {
		c.fail("%d bytes at byte %d reach beyond the end", n, c.at)
		return nil
	}
	b := c.b[c.at : c.at+int(n) : c.at+int(n)]
	c.at += int(n)
	return b
}

func (c *cursor) bytes() []byte { return c.take(c.long()) }

// blockCount reads the number of items in the next block of an array or map, 0
// at its end. least is the fewest bytes of an item.
func (c *cursor) blockCount(least int64) int64 {
	n := c.long()
	if n < 0 {
		c.long() // the block's bytes
		n = -n
	}
	if n < 0 || n > int64(len(c.b)-c.at)/least {
		c.fail("a block of %d items at byte %d reaches beyond the end", n, c.at)
		return 0
	}
	return n
}

func (c *cursor) pay(n int64) {
	if c.err == nil && c.spend != nil {
		c.err = c.spend(n)
	}
}

// branch reads the branch of a union and reports whether the value is NULL.
func (c *cursor) branch(branches, null int64) bool {
	i := c.long()
	if i < 0 || i >= branches {
		c.fail("branch %d of a union of %d at byte %d", i, branches, c.at)
		return true
	}
	return i == null
}

// skip reads a value of any type.
func (c *cursor) skip(n *node) {
	if c.err != nil {
		return
	}
	if n.kind == kindUnion {
		i := c.long()
		if i < 0 || i >= int64(len(n.branches)) {
			c.fail("branch %d of a union of %d at byte %d", i, len(n.branches), c.at)
			return
		}
		n = n.branches[i]
	}
	switch n.kind {
	case kindBoolean:
		c.take(1)
	case kindInt, kindLong, kindEnum:
		c.long()
	case kindFloat:
		c.take(4)
	case kindDouble:
		c.take(8)
	case kindBytes, kindString:
		c.bytes()
	case kindFixed:
		c.take(n.size)
	case kindArray:
		for k := c.blockCount(n.items.min); k > 0; k = c.blockCount(n.items.min) {
			for ; k > 0 && c.err == nil; k-- {
				c.skip(n.items)
			}
		}
	case kindMap:
		for k := c.blockCount(1 + n.items.min); k > 0; k = c.blockCount(1 + n.items.min) {
			for ; k > 0 && c.err == nil; k-- {
				c.bytes()
				c.skip(n.items)
			}
		}
	case kindRecord:
		for i := range n.fields {
			c.skip(n.fields[i].node)
		}
	}
}

// read appends the next value to v.
func (c *cursor) read(p *plan, v *vector.Vec) {
	if c.err != nil {
		return
	}
	if p.op == opSkip {
		c.skip(p.node)
		return
	}
	if p.branches > 0 && c.branch(p.branches, p.null) {
		v.AppendNull()
		return
	}
	switch p.op {
	case opBoolean:
		if b := c.take(1); b != nil {
			if b[0] > 1 {
				c.fail("a boolean at byte %d has the value %d", c.at-1, b[0])
				return
			}
			v.AppendI8(int8(b[0]))
		}
	case opInt:
		x := c.long()
		if x < p.low || x > p.high {
			c.fail("an integer at byte %d has the value %d", c.at, x)
			return
		}
		v.AppendI32(int32(x))
	case opLong:
		v.AppendI64(c.long())
	case opFloat:
		if b := c.take(4); b != nil {
			v.AppendF32(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case opDouble:
		if b := c.take(8); b != nil {
			v.AppendF64(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case opBytes:
		b := c.bytes()
		c.pay(int64(len(b)))
		v.AppendBytes(b)
	case opFixed:
		b := c.take(p.node.size)
		c.pay(int64(len(b)))
		v.AppendBytes(b)
	case opDecimal64, opDecimal128:
		n := p.fixed
		if n < 0 {
			n = c.long()
		}
		x, ok := vector.Int128FromBigEndian(c.take(n))
		switch {
		case !ok || p.op == opDecimal64 && !x.IsInt64():
			c.fail("a decimal before byte %d is larger than its precision", c.at)
		case p.op == opDecimal64:
			v.AppendI64(x.Int64())
		default:
			v.AppendI128(x)
		}
	case opMicros:
		x := c.long()
		y := x * p.factor
		if y/p.factor != x {
			c.fail("a timestamp before byte %d is out of range", c.at)
			return
		}
		v.AppendI64(y)
	case opNanos:
		v.AppendI128(times(c.long(), p.factor))
	default:
		c.readNested(p, v)
	}
}

func (c *cursor) readNested(p *plan, v *vector.Vec) {
	switch p.op {
	case opArray:
		c.items(v, p.node.items.min, p.kids[0].width, func() { c.read(p.kids[0], v.Child[0]) })
	case opMap, opEntries:
		least := p.node.items.min
		if p.op == opMap {
			least++
		}
		c.items(v, least, p.kids[0].width+p.kids[1].width, func() {
			c.read(p.kids[0], v.Child[0])
			c.read(p.kids[1], v.Child[1])
		})
	case opRow:
		for i, k := range p.kids {
			if at := p.at[i]; at >= 0 {
				c.read(k, v.Child[at])
			} else {
				c.skip(k.node)
			}
		}
		for _, at := range p.absent {
			v.Child[at].AppendNull()
		}
		if c.err == nil {
			v.CloseStruct()
		}
	}
}

// items reads the blocks of an array or map.
func (c *cursor) items(v *vector.Vec, least, width int64, item func()) {
	for k := c.blockCount(least); k > 0; k = c.blockCount(least) {
		if int64(v.Child[0].Len)+k > math.MaxInt32 {
			c.err = errors.New("a batch has more than 2^31 elements")
		}
		c.pay(k * width)
		for ; k > 0 && c.err == nil; k-- {
			item()
		}
	}
	if c.err == nil {
		v.CloseList()
	}
}

// times returns x * y for a y that is not negative.
func times(x, y int64) vector.Int128 {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	if x < 0 {
		hi -= uint64(y)
	}
	return vector.Int128{Lo: lo, Hi: int64(hi)}
}
