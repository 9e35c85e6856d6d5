package paimon_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/format/avro"
	"github.com/thermocline/thermocline/connector/format/blob"
	"github.com/thermocline/thermocline/connector/format/orc"
	"github.com/thermocline/thermocline/connector/format/parquet"
	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/testkit"
)

// corpusTables are the tables of Java Paimon 2.0.0, with the rows that Java read
// from them, that testdata/tables.tar.zst holds.
var corpusTables = []string{
	"aggregation_collections", "aggregation_overflow", "aggregation_remove_on_delete", "aggregation_retract", "aggregation_scalars",
	"aggregation_sketches", "append_bucketed", "append_unaware", "branch_fast_forward", "bucket_cross_partition", "bucket_dynamic",
	"bucket_dynamic_partitioned", "bucket_postpone", "bucket_postpone_compacted", "changelog_lookup", "column_defaults", "compression_parquet_gzip",
	"compression_parquet_lz4", "compression_parquet_none", "compression_parquet_snappy", "dv_append_bitmap32", "dv_append_bitmap64", "dv_pk_bitmap32",
	"dv_pk_mor", "empty_no_snapshot", "evolution_append_parquet", "evolution_casts_parquet", "evolution_pk_parquet", "expired_tag_kept",
	"file_index_files", "first_row", "first_row_ignore_delete", "ignore_delete", "manifest_many_small", "odd_column_names", "overwrite_dynamic_static",
	"overwrite_pk_truncate", "partial_update_ignore_delete", "partial_update_lookup_changelog", "partial_update_remove_on_delete",
	"partial_update_remove_on_sequence_group", "partial_update_sequence_groups", "partition_date", "partition_default_name",
	"partition_multi_overwrite", "partition_string_special", "partition_timestamp", "pk_composite_key", "pk_dedup_levels_parquet",
	"pk_dedup_string_key", "pk_dedup_thin_mode_parquet", "rollback_snapshot", "row_tracking", "rowkind_field", "sequence_fields",
	"sequence_fields_descending", "stats_mode_counts", "stats_mode_full", "stats_mode_none", "stats_mode_per_field", "tags_branches", "type_multiset",
	"types_append_parquet", "types_pk_parquet",
}

const corpusArchive = "testdata/tables.tar.zst"

// TestCorpusArchive writes the archive with THERMOCLINE_UPDATE=1; otherwise it
// checks that the archive holds what the shared fixtures do, where they exist.
func TestCorpusArchive(t *testing.T) {
	root, expectedRoot := testkit.Shared(t, "fixtures/paimon-latest"), testkit.Shared(t, "fixtures/expected/paimon-latest")
	var b bytes.Buffer
	zw, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	z := tar.NewWriter(zw)
	add := func(base, prefix string) {
		err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(base, path)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			err = z.WriteHeader(&tar.Header{Name: prefix + "/" + filepath.ToSlash(rel), Mode: 0o644, Size: int64(len(data)), Format: tar.FormatPAX})
			if err == nil {
				_, err = z.Write(data)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range corpusTables {
		add(filepath.Join(root, n), "tables/"+n)
		add(filepath.Join(expectedRoot, n), "expected/"+n)
	}
	if err := errors.Join(z.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("THERMOCLINE_UPDATE") != "" {
		if err := os.WriteFile(corpusArchive, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, want := unpack(t, nil), unpack(t, b.Bytes())
	for n, d := range want {
		if !bytes.Equal(have[n], d) {
			t.Errorf("%s differs from the fixtures: THERMOCLINE_UPDATE=1 writes the archive anew", n)
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d files, want %d", len(have), len(want))
	}
}

// unpack reads an archive, the stored one for nil.
func unpack(t testing.TB, data []byte) map[string][]byte {
	t.Helper()
	if data == nil {
		var err error
		if data, err = os.ReadFile(corpusArchive); err != nil {
			t.Fatal(err)
		}
	}
	zr, err := zstd.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	out := map[string][]byte{}
	for r := tar.NewReader(zr); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// corpusCase is one read of the corpus, equal to Java's.
type corpusCase struct {
	testkit.Expected
	rows testkit.Rows
}

// loadCorpus puts the archive into a store in memory, below /lake, and returns
// the reads with their expected rows.
func loadCorpus(t testing.TB) (*fileio.Memory, []corpusCase) {
	t.Helper()
	files := fileio.NewMemory()
	var cases []corpusCase
	for n, data := range unpack(t, nil) {
		if rel, ok := strings.CutPrefix(n, "tables/"); ok {
			if err := files.WriteFile(ctx, "/lake/"+rel, data); err != nil {
				t.Fatal(err)
			}
			continue
		}
		rel, _ := strings.CutPrefix(n, "expected/")
		e, ok := testkit.ParseExpected(rel)
		if !ok || !strings.HasSuffix(rel, ".jsonl") {
			continue
		}
		r, err := testkit.ReadRows(bytes.NewReader(data))
		if err != nil {
			t.Fatal(n, err)
		}
		cases = append(cases, corpusCase{e, r})
	}
	slices.SortFunc(cases, func(a, b corpusCase) int { return strings.Compare(a.Path, b.Path) })
	return files, cases
}

func driverOver(files fileio.FileIO) *paimon.Driver {
	return paimon.NewDriver(paimon.Config{Files: files, Formats: format.NewRegistry(parquet.Format{}, orc.Format{}, avro.Format{}, blob.Format{})})
}

// TestCorpus reads the tables of the archive from a store in memory and compares
// with the rows that Java read.
func TestCorpus(t *testing.T) {
	files, cases := loadCorpus(t)
	d := driverOver(files)
	var lines []string
	equal := 0
	for _, c := range cases {
		got, err := c.outcome(d, scanOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.Path, err)
			continue
		}
		if got == "equal" {
			equal++
		}
		lines = append(lines, c.Path+": "+got)
	}
	t.Logf("%d of %d reads are equal, the others are refused", equal, len(cases))
	testkit.Golden(t, "testdata/corpus.golden", lines)
}

// outcome is outcome for a read of the corpus.
func (c corpusCase) outcome(d *paimon.Driver, o scanOptions) (string, error) {
	return outcome(d, "/lake", c.Expected, c.rows, o)
}
