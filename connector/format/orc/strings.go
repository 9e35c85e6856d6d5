package orc

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// maxStrings bounds the bytes of the strings of a batch, whose views have 32-bit
// offsets.
const maxStrings = math.MaxInt32

// readStrings reads strings stored with their lengths, or codes of a dictionary.
func (c *column) readStrings(n, m int) error {
	v := c.vec
	c.nums = sized(c.nums, m)
	if c.dict != nil {
		if err := c.ints.read(c.nums); err != nil {
			return err
		}
		return c.fromDictionary(n)
	}
	if err := c.second.read(c.nums); err != nil {
		return err
	}
	buf, err := c.readBytes(&c.streams[streamData], c.nums, c.r.spend)
	if err != nil {
		return err
	}
	v.Views = sized(v.Views, n)
	c.setViews(v, buf, c.nums)
	return nil
}

// readBytes reads the bytes of values of the given lengths into a new buffer.
func (c *column) readBytes(from *stream, lengths []int64, pay func(int64) error) ([]byte, error) {
	total := int64(0)
	for _, l := range lengths {
		if l < 0 {
			return nil, fmt.Errorf("a value of %d bytes", uint64(l))
		}
		if total += l; l > maxStrings || total > maxStrings {
			return nil, errs.New(errs.Resource, errs.MemoryLimit, "read %s: a batch has more than 2 GiB of strings in a column; lower lake_batch_rows", c.r.of.path)
		}
	}
	return from.appendTo(nil, total, pay)
}

// setViews makes the first rows of v refer to consecutive values in buf, without
// the trailing blanks of CHAR.
func (c *column) setViews(v *vector.Vec, buf []byte, lengths []int64) {
	v.Bufs = [][]byte{buf}
	at := 0
	for i, l := range lengths {
		n := int(l)
		if c.node.kind == kindChar {
			n = len(bytes.TrimRight(buf[at:at+n], " "))
		}
		v.SetView(i, 0, at, n)
		at += int(l)
	}
}

// readDictionary reads the dictionary of a stripe.
func (c *column) readDictionary(entries int64) error {
	lengths := &c.second
	var list []int64
	for int64(len(list)) < entries {
		k := int(min(entries-int64(len(list)), 1024))
		if err := c.r.of.charge(int64(k) * 24); err != nil {
			return err
		}
		c.dictPaid += int64(k) * 24
		at := len(list)
		list = append(list, make([]int64, k)...)
		if err := lengths.read(list[at:]); err != nil {
			return fmt.Errorf("column %d: dictionary: %w", c.node.column, err)
		}
	}
	buf, err := c.readBytes(&c.streams[streamDictionary], list, func(n int64) error {
		c.dictPaid += n
		return c.r.of.charge(n)
	})
	if err != nil {
		return fmt.Errorf("column %d: dictionary: %w", c.node.column, err)
	}
	d := vector.New(vector.Str, 0)
	d.Views = make([]vector.View, len(list))
	d.Len = len(list)
	c.setViews(d, buf, list)
	c.dict = d
	return nil
}

// fromDictionary turns codes into a vector of Dict form, or into views where
// Flat ones are needed: in nested columns, and for CHAR, whose words may be equal
// without their blanks.
func (c *column) fromDictionary(n int) error {
	v, size := c.vec, int64(c.dict.Len)
	for _, x := range c.nums {
		if x < 0 || x >= size {
			return errors.New("a code lies beyond the dictionary")
		}
	}
	if c.top && c.node.kind != kindChar {
		v.Form, v.Dict = vector.Dict, c.dict
		v.Views = v.Views[:0]
		v.Codes = sized(v.Codes, n)
		for i, x := range c.nums {
			v.Codes[i] = uint32(x)
		}
		return nil
	}
	v.Bufs = c.dict.Bufs
	v.Views = sized(v.Views, n)
	for i, x := range c.nums {
		v.Views[i] = c.dict.Views[x]
	}
	return nil
}
