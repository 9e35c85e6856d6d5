package fileindex

// Only returns the file with the indexes of one kind.
func (f *File) Only(kind string) *File {
	out := *f
	out.columns = map[string][]place{}
	for c, list := range f.columns {
		for _, p := range list {
			if p.kind == kind {
				out.columns[c] = append(out.columns[c], p)
			}
		}
	}
	return &out
}

// Body returns the bytes of a column's index of a kind, nil when it has none.
func (f *File) Body(column, kind string) []byte {
	for _, p := range f.columns[column] {
		if p.kind == kind && p.start >= 0 {
			if b, err := f.body(p); err == nil {
				return b
			}
		}
	}
	return nil
}
