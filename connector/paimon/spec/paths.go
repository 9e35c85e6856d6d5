package spec

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/thermocline/thermocline/catalog"
)

// Paths places the files of one table, or of one branch of it.
type Paths struct {
	root   string // table directory, without a slash at the end
	meta   string // where schema/, snapshot/ and tag/ are: root, or the branch's directory
	data   string // where bucket directories are
	part   *Partitioner
	prefix string
	beside bool   // index files lie beside data files
	change string // prefix of changelog files
}

// NewPaths places the files of the table in the directory root. branch is ""
// for main; only schemas, snapshots and tags of other branches lie apart.
func NewPaths(root, branch string, s *catalog.Schema) *Paths {
	root = strings.TrimRight(root, "/")
	p := &Paths{root: root, meta: root, data: root, part: NewPartitioner(s), prefix: "data-", change: "changelog-"}
	if branch != "" && branch != "main" {
		p.meta = root + "/branch/branch-" + branch
	}
	if d := s.Options["data-file.path-directory"]; d != "" {
		p.data = root + "/" + strings.Trim(d, "/")
	}
	if x, ok := s.Options["data-file.prefix"]; ok {
		p.prefix = x
	}
	p.beside = strings.EqualFold(strings.TrimSpace(s.Options["index-file-in-data-file-dir"]), "true")
	if x, ok := s.Options["changelog-file.prefix"]; ok {
		p.change = x
	}
	return p
}

// Root returns the table's directory.
func (p *Paths) Root() string { return p.root }

// Partitioner returns the table's Partitioner.
func (p *Paths) Partitioner() *Partitioner { return p.part }

// SchemaDir and the like return directories, Schema and the like files.
func (p *Paths) SchemaDir() string     { return p.meta + "/schema" }
func (p *Paths) SnapshotDir() string   { return p.meta + "/snapshot" }
func (p *Paths) TagDir() string        { return p.meta + "/tag" }
func (p *Paths) ConsumerDir() string   { return p.meta + "/consumer" }
func (p *Paths) BranchDir() string     { return p.root + "/branch" }
func (p *Paths) ManifestDir() string   { return p.root + "/manifest" }
func (p *Paths) IndexDir() string      { return p.root + "/index" }
func (p *Paths) StatisticsDir() string { return p.root + "/statistics" }
func (p *Paths) ChangelogDir() string  { return p.meta + "/changelog" }
func (p *Paths) Schema(id int64) string {
	return p.SchemaDir() + "/schema-" + strconv.FormatInt(id, 10)
}
func (p *Paths) Snapshot(id int64) string {
	return p.SnapshotDir() + "/snapshot-" + strconv.FormatInt(id, 10)
}
func (p *Paths) Latest() string              { return p.SnapshotDir() + "/LATEST" }
func (p *Paths) Earliest() string            { return p.SnapshotDir() + "/EARLIEST" }
func (p *Paths) Tag(name string) string      { return p.TagDir() + "/tag-" + name }
func (p *Paths) Manifest(name string) string { return p.ManifestDir() + "/" + name }
func (p *Paths) Index(name string) string    { return p.IndexDir() + "/" + name }

// BucketDir returns the directory of a bucket's data files.
func (p *Paths) BucketDir(part BinaryRow, bucket int32) (string, error) {
	dir, err := p.part.Path(part)
	if err != nil {
		return "", err
	}
	b := "bucket-postpone"
	if bucket != PostponeBucket {
		b = "bucket-" + strconv.Itoa(int(bucket))
	}
	return p.data + "/" + dir + b, nil
}

// DataFile returns the path of an entry's data file.
func (p *Paths) DataFile(e *ManifestEntry) (string, error) {
	if e.File.ExternalPath.OK {
		return e.File.ExternalPath.V, nil
	}
	dir, err := p.BucketDir(e.Partition, e.Bucket)
	if err != nil {
		return "", err
	}
	return dir + "/" + e.File.FileName, nil
}

// ExtraFiles returns the paths of the files that lie beside an entry's data file.
func (p *Paths) ExtraFiles(e *ManifestEntry) ([]string, error) {
	if len(e.File.ExtraFiles) == 0 {
		return nil, nil
	}
	file, err := p.DataFile(e)
	if err != nil {
		return nil, err
	}
	dir := file[:strings.LastIndexByte(file, '/')+1]
	out := make([]string, len(e.File.ExtraFiles))
	for i, x := range e.File.ExtraFiles {
		out[i] = dir + x
	}
	return out, nil
}

// IndexFile returns the path of an index file.
func (p *Paths) IndexFile(e *IndexEntry) (string, error) {
	if e.ExternalPath.OK {
		return e.ExternalPath.V, nil
	}
	if !p.beside {
		return p.Index(e.FileName), nil
	}
	dir, err := p.BucketDir(e.Partition, e.Bucket)
	return dir + "/" + e.FileName, err
}

// Namer gives new files of one kind names that nobody else uses:
// <prefix><uuid>-<counter>. It is not safe for concurrent use.
type Namer struct {
	id string
	n  int
}

// NewNamer makes a Namer.
func NewNamer() *Namer { return &Namer{id: uuid.NewString()} }

func (n *Namer) next(prefix string) string {
	s := prefix + n.id + "-" + strconv.Itoa(n.n)
	n.n++
	return s
}

// DataFile names a data file; ext is the format ("parquet").
func (p *Paths) DataFileName(n *Namer, ext string) string { return n.next(p.prefix) + "." + ext }

// ChangelogFileName names a changelog file.
func (p *Paths) ChangelogFileName(n *Namer, ext string) string { return n.next(p.change) + "." + ext }

// DataFilePrefix returns the prefix of data files' names.
func (p *Paths) DataFilePrefix() string { return p.prefix }

// Named returns the next name with a prefix.
func (n *Namer) Named(prefix string) string { return n.next(prefix) }

// Index names an index file.
func (n *Namer) Index() string { return n.next("index-") }

// ManifestList, Manifest and IndexManifest name metadata files.
func (n *Namer) ManifestList() string  { return n.next("manifest-list-") }
func (n *Namer) Manifest() string      { return n.next("manifest-") }
func (n *Namer) IndexManifest() string { return n.next("index-manifest-") }

// ValidFileName reports whether a name read from metadata is a plain file name.
func ValidFileName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 1024 && !strings.ContainsAny(s, "/\\\x00")
}

// VersionOf returns N for the file name "<prefix>N" (snapshot-, schema-).
func VersionOf(name, prefix string) (int64, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || rest == "" || rest[0] < '0' || rest[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	return n, err == nil && n >= 0
}

// Main reports whether these are the paths of the main branch.
func (p *Paths) Main() bool { return p.meta == p.root }

// LocalPath strips the scheme of a local URI, as external paths have it.
func LocalPath(path string) string {
	const scheme = "file:"
	if len(path) < len(scheme) || path[:len(scheme)] != scheme {
		return path
	}
	path = path[len(scheme):]
	for len(path) > 1 && path[0] == '/' && path[1] == '/' {
		path = path[1:]
	}
	return path
}

// DataDir returns the directory in which partitions and buckets lie.
func (p *Paths) DataDir() string { return p.data }
