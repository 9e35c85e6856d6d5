package main

import (
	"context"
	"flag"
	"os"

	"github.com/thermocline/thermocline/ingest"
	"github.com/thermocline/thermocline/ingest/pipeline"
)

// pipeline parses the flags and loads the one file that the arguments name.
func (c *command) pipeline(f *flag.FlagSet, args []string) (*pipeline.Definition, error) {
	if err := c.parse(f, args); err != nil {
		return nil, err
	}
	file, err := c.oneFile(f)
	if err != nil {
		return nil, err
	}
	return loadPipeline(file)
}

// runIngest runs one pipeline in the foreground until a signal, or until a
// bounded one is done.
func runIngest(ctx context.Context, c *command, args []string) error {
	f := c.flags()
	limit := f.String("memory-limit", "", "the memory that the process may use (default 75 % of the machine's)")
	def, err := c.pipeline(f, args)
	if err != nil {
		return err
	}
	root, err := memoryRoot(*limit)
	if err != nil {
		return err
	}
	spill, err := spillFolder(temporaryFolder(), "")
	if err != nil {
		return err
	}
	return ingest.RunFile(ctx, ingestOptions(nil, "", root, root, spill), def)
}

// runVerify compares the tables of a pipeline with their source.
func runVerify(ctx context.Context, c *command, args []string) error {
	f := c.flags()
	warehouse := f.String("warehouse", "", "the warehouse of a pipeline whose file names none: that of its server")
	limit := f.String("memory-limit", "", "the memory that the process may use (default 75 % of the machine's)")
	def, err := c.pipeline(f, args)
	if err != nil {
		return err
	}
	if *warehouse != "" && def.Sink.Catalog["warehouse"] == "" {
		def.Sink.Catalog["warehouse"] = *warehouse
	}
	root, err := memoryRoot(*limit)
	if err != nil {
		return err
	}
	list, err := ingest.Verify(ctx, ingestOptions(nil, "", root, root, nil), def)
	if err != nil {
		return err
	}
	return ingest.WriteVerified(os.Stdout, list)
}

// runPlan shows what a pipeline would do.
func runPlan(ctx context.Context, c *command, args []string) error {
	f := c.flags()
	def, err := c.pipeline(f, args)
	if err != nil {
		return err
	}
	plan, err := ingest.MakePlan(ctx, ingestOptions(nil, "", nil, nil, nil), def)
	if err != nil {
		return err
	}
	_, err = plan.WriteTo(os.Stdout)
	return err
}
