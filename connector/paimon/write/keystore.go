package write

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sort"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// keyStore maps keys to numbers. The newest are in a hash table in memory; when
// that has no room, it becomes a run in a temporary file, sorted by the keys'
// hashes, of which memory has a Bloom filter and the first hash of each block. Runs
// are looked through from the newest to the oldest, and merged when they become many
// (a log-structured merge tree of one level).
//
//	entry   length of the key (uvarint) | key | number u32
type keyStore struct {
	budget  *memory.Budget
	reserve func(ctx context.Context, n int64) error // from budget, making room
	scratch *fileio.Scratch                          // nil: all is in memory
	most    int64                                    // bytes that the table in memory may have, 0: what the budget gives
	seed    maphash.Seed

	slots []uint32 // 1 + where the entry lies in chunks; 0: free
	chunk [][]byte
	n     int   // entries in memory
	held  int64 // bytes reserved for them

	file    *fileio.TempFile
	runs    []*keyRun // the oldest first
	runHeld int64
	block   []byte // the last one read
	blockAt int64
}

// keyRun is a sorted run.
type keyRun struct {
	at     int64 // of the first block
	first  []uint64
	ends   []uint32 // of the blocks, from at on
	filter []uint64
	n      int
}

const (
	keyChunkBytes = 1 << 20
	keyBlockBytes = 2 << 10
	keyRuns       = 12 // more are merged
	// filterBits a key make a Bloom filter of 64-byte blocks wrong once in a hundred
	// times (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters).
	filterBits   = 10
	filterProbes = 6
	// slotCost is what a slot takes, with what sorting takes and what stays in memory
	// of a run.
	slotCost = 14
)

func newKeyStore(budget *memory.Budget, reserve func(context.Context, int64) error, scratch *fileio.Scratch) *keyStore {
	s := &keyStore{budget: budget, reserve: reserve, scratch: scratch, seed: maphash.MakeSeed(), blockAt: -1}
	if l := budget.Limit(); l > 0 {
		s.most = l / 4
	}
	return s
}

// close releases all.
func (s *keyStore) close() {
	s.budget.Release(s.held + s.runHeld)
	s.held, s.runHeld = 0, 0
	if s.file != nil {
		s.file.Close() //nolint:errcheck // nothing of it is needed
	}
	s.file, s.slots, s.chunk, s.runs = nil, nil, nil, nil
}

func (s *keyStore) hash(key []byte) uint64 { return maphash.Bytes(s.seed, key) }

// entry returns the key and the number's bytes at a place in memory.
func (s *keyStore) entry(ref uint32) (key, number []byte) {
	ref--
	b := s.chunk[ref/keyChunkBytes][ref%keyChunkBytes:]
	n, k := binary.Uvarint(b)
	return b[k : k+int(n)], b[k+int(n) : k+int(n)+4]
}

// slot returns where the key is in slots, or should be.
func (s *keyStore) slot(hash uint64, key []byte) int {
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if s.slots[i] == 0 {
			return int(i)
		}
		if k, _ := s.entry(s.slots[i]); bytes.Equal(k, key) {
			return int(i)
		}
	}
}

// get returns a key's number.
func (s *keyStore) get(key []byte) (number int32, ok bool, err error) {
	h := s.hash(key)
	if s.n > 0 {
		if r := s.slots[s.slot(h, key)]; r != 0 {
			_, v := s.entry(r)
			return int32(binary.LittleEndian.Uint32(v)), true, nil
		}
	}
	for i := len(s.runs) - 1; i >= 0; i-- {
		if number, ok, err = s.find(s.runs[i], h, key); ok || err != nil {
			return number, ok, err
		}
	}
	return 0, false, nil
}

// put sets a key's number.
func (s *keyStore) put(ctx context.Context, key []byte, number int32) error {
	h := s.hash(key)
	if s.n > 0 {
		if r := s.slots[s.slot(h, key)]; r != 0 {
			_, v := s.entry(r)
			binary.LittleEndian.PutUint32(v, uint32(number))
			return nil
		}
	}
	size := len(key) + binary.MaxVarintLen64 + 4
	if err := s.grow(ctx, size); err != nil {
		return err
	}
	at := len(s.chunk) - 1
	c := s.chunk[at]
	ref := uint32(at*keyChunkBytes + len(c))
	c = append(binary.AppendUvarint(c, uint64(len(key))), key...)
	s.chunk[at] = binary.LittleEndian.AppendUint32(c, uint32(number))
	s.slots[s.slot(h, key)] = ref + 1
	s.n++
	return nil
}

// grow makes room for an entry of so many bytes in memory.
func (s *keyStore) grow(ctx context.Context, size int) error {
	need := int64(0)
	chunk := len(s.chunk) == 0 || cap(s.chunk[len(s.chunk)-1])-len(s.chunk[len(s.chunk)-1]) < size
	if chunk {
		need += int64(max(keyChunkBytes, size))
	}
	slots := 4*s.n >= 3*len(s.slots)
	if slots {
		need += int64(slotCost * max(2*len(s.slots), 1024)) // the old ones until they are copied
	}
	if need == 0 {
		return nil
	}
	err := error(nil)
	if s.n > 0 && (s.most > 0 && s.held+need > s.most || len(s.chunk) >= 4000) {
		err = errs.New(errs.Resource, errs.MemoryLimit, "keep keys in memory: they take %s already", memory.FormatSize(s.held))
	} else {
		err = s.reserve(ctx, need)
	}
	if err != nil {
		if s.n == 0 || s.scratch == nil {
			return err
		}
		if err := s.spill(ctx); err != nil {
			return err
		}
		return s.grow(ctx, size)
	}
	s.held += need
	if chunk {
		s.chunk = append(s.chunk, make([]byte, 0, max(keyChunkBytes, size)))
	}
	if slots {
		old := s.slots
		s.slots = make([]uint32, max(2*len(old), 1024))
		for _, r := range old {
			if r != 0 {
				key, _ := s.entry(r)
				s.slots[s.slot(s.hash(key), key)] = r
			}
		}
		s.held -= int64(slotCost * len(old))
		s.budget.Release(int64(slotCost * len(old)))
	}
	return nil
}

// hashed is an entry in memory by its hash.
type hashed struct {
	hash uint64
	ref  uint32
}

// spill makes a run of the entries in memory.
func (s *keyStore) spill(ctx context.Context) error {
	if s.file == nil {
		f, err := s.scratch.Create(ctx)
		if err != nil {
			return err
		}
		s.file = f
	}
	order, size := make([]hashed, 0, s.n), int64(0)
	for _, r := range s.slots {
		if r != 0 {
			key, _ := s.entry(r)
			order = append(order, hashed{s.hash(key), r})
			size += int64(len(key)) + 5
		}
	}
	slices.SortFunc(order, func(a, b hashed) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		x, _ := s.entry(a.ref)
		y, _ := s.entry(b.ref)
		return bytes.Compare(x, y)
	})
	w := newRun(s.file, s.n)
	for _, e := range order {
		key, number := s.entry(e.ref)
		if err := w.add(e.hash, key, number); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	s.runs = append(s.runs, w.run)
	stays := min(runBytes(s.n, size), s.held)
	s.runHeld += stays
	s.budget.Release(s.held - stays)
	s.held, s.n, s.chunk, s.slots = 0, 0, nil, nil
	if len(s.runs) > keyRuns {
		return s.merge(ctx)
	}
	return nil
}

// keyRunWriter writes a run.
type keyRunWriter struct {
	file *fileio.TempFile
	run  *keyRun
	buf  []byte
	open int // where the block begins in buf
}

func filterWords(n int) int { return (n*filterBits/512 + 1) * 8 }

// runBytes is what memory has of a run of n keys in so many bytes.
func runBytes(n int, bytes int64) int64 { return int64(8*filterWords(n)) + 24*(bytes/keyBlockBytes+1) }

// newRun begins a run of n keys at most.
func newRun(f *fileio.TempFile, n int) *keyRunWriter {
	return &keyRunWriter{file: f, run: &keyRun{at: f.Size(), filter: make([]uint64, filterWords(n)), n: n}}
}

func (w *keyRunWriter) add(hash uint64, key, number []byte) error {
	if len(w.buf)-w.open >= keyBlockBytes || len(w.run.first) == 0 {
		if err := w.endBlock(); err != nil {
			return err
		}
		w.run.first = append(w.run.first, hash)
	}
	w.run.mark(hash)
	w.buf = append(binary.AppendUvarint(w.buf, uint64(len(key))), key...)
	w.buf = append(w.buf, number...)
	return nil
}

func (w *keyRunWriter) endBlock() error {
	if len(w.buf) == w.open {
		return nil
	}
	w.run.ends = append(w.run.ends, uint32(w.file.Size()-w.run.at)+uint32(len(w.buf)))
	w.open = len(w.buf)
	if len(w.buf) < 256<<10 {
		return nil
	}
	return w.flush()
}

func (w *keyRunWriter) flush() error {
	_, err := w.file.Write(w.buf)
	w.buf, w.open = w.buf[:0], 0
	return err
}

func (w *keyRunWriter) end() error {
	if err := w.endBlock(); err != nil {
		return err
	}
	if w.file.Size()-w.run.at+int64(len(w.buf)) > 1<<32-1 {
		return errs.New(errs.Resource, errs.DiskLimit, "keep keys on disk: a run has 4 GiB")
	}
	return w.flush()
}

// filterBlock returns the eight words of a hash's block in the filter.
func (r *keyRun) filterBlock(hash uint64) []uint64 {
	at := hash >> 32 * uint64(len(r.filter)/8) >> 32 * 8
	return r.filter[at : at+8]
}

func (r *keyRun) mark(hash uint64) {
	b := r.filterBlock(hash)
	for i, x := 0, hash*0x9E3779B97F4A7C15; i < filterProbes; i, x = i+1, x>>9 {
		b[x>>6&7] |= 1 << (x & 63)
	}
}

func (r *keyRun) may(hash uint64) bool {
	b := r.filterBlock(hash)
	for i, x := 0, hash*0x9E3779B97F4A7C15; i < filterProbes; i, x = i+1, x>>9 {
		if b[x>>6&7]&(1<<(x&63)) == 0 {
			return false
		}
	}
	return true
}

// find looks a key up in a run.
func (s *keyStore) find(r *keyRun, hash uint64, key []byte) (int32, bool, error) {
	if !r.may(hash) {
		return 0, false, nil
	}
	for b := sort.Search(len(r.first), func(i int) bool { return r.first[i] > hash }) - 1; b >= 0; b-- {
		text, err := s.read(r, b)
		if err != nil {
			return 0, false, err
		}
		for len(text) > 0 {
			k, number, rest, err := cutKey(text)
			if err != nil {
				return 0, false, err
			}
			if bytes.Equal(k, key) {
				return int32(binary.LittleEndian.Uint32(number)), true, nil
			}
			text = rest
		}
		if r.first[b] < hash {
			break // else entries of this hash may lie in the block before
		}
	}
	return 0, false, nil
}

// cutKey returns the first entry of a block and what follows.
func cutKey(b []byte) (key, number, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)) || len(b) < k+int(n)+4 {
		return nil, nil, nil, errs.Corruptf("read spilled keys: the bytes are damaged")
	}
	return b[k : k+int(n)], b[k+int(n) : k+int(n)+4], b[k+int(n)+4:], nil
}

// read returns a block of a run, valid until the next call.
func (s *keyStore) read(r *keyRun, b int) ([]byte, error) {
	from := uint32(0)
	if b > 0 {
		from = r.ends[b-1]
	}
	n, at := int(r.ends[b]-from), r.at+int64(from)
	if s.blockAt == at {
		return s.block[:n], nil
	}
	if cap(s.block) < n {
		s.block = make([]byte, n)
	}
	s.blockAt = -1
	if _, err := s.file.ReadAt(s.block[:n], at); err != nil {
		return nil, errs.New(errs.Unavailable, errs.KindNone, "read spilled keys: %w", err)
	}
	s.blockAt = at
	return s.block[:n], nil
}

// keyCursor goes through a run.
type keyCursor struct {
	file        *fileio.TempFile
	run         *keyRun
	next        int // block
	buf, text   []byte
	hash        uint64
	key, number []byte
}

func (c *keyCursor) advance(s *keyStore) (bool, error) {
	if len(c.text) == 0 {
		if c.next == len(c.run.ends) {
			return false, nil
		}
		from, to := uint32(0), c.next
		if to > 0 {
			from = c.run.ends[to-1]
		}
		for to < len(c.run.ends) && c.run.ends[to]-from < 64<<10 || to == c.next {
			to++
		}
		n := int(c.run.ends[to-1] - from)
		if cap(c.buf) < n {
			c.buf = make([]byte, n)
		}
		c.text = c.buf[:n]
		if _, err := c.file.ReadAt(c.text, c.run.at+int64(from)); err != nil {
			return false, errs.New(errs.Unavailable, errs.KindNone, "read spilled keys: %w", err)
		}
		c.next = to
	}
	var err error
	c.key, c.number, c.text, err = cutKey(c.text)
	c.hash = s.hash(c.key)
	return err == nil, err
}

// merge makes one run of all, in a file of its own, if there is memory for it.
func (s *keyStore) merge(ctx context.Context) error {
	n, size := 0, int64(0)
	for _, r := range s.runs {
		n, size = n+r.n, size+int64(r.ends[len(r.ends)-1])
	}
	held := runBytes(n, size)
	if err := s.reserve(ctx, held); err != nil {
		if errs.ClassOf(err) == errs.Resource {
			return nil
		}
		return err
	}
	old := s.runHeld
	if err := s.mergeRuns(ctx, n); err != nil {
		s.budget.Release(held)
		return err
	}
	s.budget.Release(old)
	s.runHeld = held
	return nil
}

func (s *keyStore) mergeRuns(ctx context.Context, n int) error {
	f, err := s.scratch.Create(ctx)
	if err != nil {
		return err
	}
	var heads []*keyCursor // the oldest first
	for _, r := range s.runs {
		c := &keyCursor{file: s.file, run: r}
		ok, err := c.advance(s)
		if err != nil {
			f.Close()
			return err
		}
		if ok {
			heads = append(heads, c)
		}
	}
	w := newRun(f, n)
	var key []byte
	for err == nil && len(heads) > 0 {
		if err = ctx.Err(); err != nil {
			break
		}
		// The smallest hash; of the same key the newest.
		best := heads[0]
		for _, c := range heads[1:] {
			if c.hash < best.hash || c.hash == best.hash && bytes.Compare(c.key, best.key) <= 0 {
				best = c
			}
		}
		if err = w.add(best.hash, best.key, best.number); err != nil {
			break
		}
		hash := best.hash
		key = append(key[:0], best.key...)
		for i := 0; i < len(heads) && err == nil; {
			c := heads[i]
			ok := true
			if c.hash == hash && bytes.Equal(c.key, key) {
				ok, err = c.advance(s)
			}
			if !ok {
				heads = slices.Delete(heads, i, i+1)
				continue
			}
			i++
		}
	}
	if err == nil {
		err = w.end()
	}
	if err != nil {
		f.Close() //nolint:errcheck // nothing of it is needed
		return err
	}
	s.file.Close() //nolint:errcheck // nothing of it is needed any more
	s.file, s.runs, s.blockAt = f, []*keyRun{w.run}, -1
	return nil
}
