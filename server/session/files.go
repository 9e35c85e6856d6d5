package session

import (
	"context"
	"path"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/server/metadata"
	"github.com/thermocline/thermocline/server/plan"
)

// Files are the files that statements read as tables and write results into.
// Implementations are safe for concurrent use.
type Files interface {
	plan.FileTables
	// Create starts a file; one that exists is an error of kind errs.FileExists.
	Create(ctx context.Context, path string) (fileio.Writer, error)
}

// fileTables opens files for the session's account.
func (s *Session) fileTables() plan.FileTables {
	if s.srv.cfg.Files == nil {
		return nil
	}
	return accountFiles{s}
}

type accountFiles struct{ s *Session }

// FileTable implements plan.FileTables.
func (a accountFiles) FileTable(ctx context.Context, format, pattern string, options map[string]string) (connector.Readable, error) {
	if err := a.s.mayUseFile(pattern); err != nil {
		return nil, err
	}
	return a.s.srv.cfg.Files.FileTable(ctx, format, pattern, options)
}

// mayUseFile checks the right to name a file: the FILE privilege, and a place
// below one of the roots. Links in the roots are followed.
func (s *Session) mayUseFile(name string) error {
	if s.srv.cfg.AnyFile {
		return nil
	}
	if !s.allowed(metadata.File, metadata.Object{}) {
		return errs.Userf(errs.PrivilegeNeeded, "Access denied; you need (at least one of) the FILE privilege(s) for this operation")
	}
	for _, root := range s.srv.cfg.FileRoots {
		if within(root, name) {
			return nil
		}
	}
	return errs.Userf(errs.FilesOutside, "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement: %s is not below a --file-root", name)
}

// within reports whether a path is below a root, by name. Paths with .. are below
// none.
func within(root, name string) bool {
	scheme := func(s string) (string, string) {
		if i := strings.Index(s, "://"); i > 0 {
			return strings.ToLower(s[:i]), s[i+3:]
		}
		return "", s
	}
	rs, r := scheme(root)
	ns, n := scheme(name)
	if rs == "file" {
		rs = ""
	}
	if ns == "file" {
		ns = ""
	}
	if rs != ns || ns == "" && !strings.HasPrefix(n, "/") {
		return false
	}
	for _, e := range strings.Split(n, "/") {
		if e == ".." {
			return false
		}
	}
	r, n = path.Clean("/"+r), path.Clean("/"+n)
	return r == "/" || strings.HasPrefix(n, strings.TrimSuffix(r, "/")+"/")
}
