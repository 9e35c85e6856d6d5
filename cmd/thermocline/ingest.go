package main

import (
	"context"
	"os"

	"github.com/thermocline/thermocline/ingest"
)

// runIngest runs one pipeline in the foreground until a signal, or until a
// bounded one is done.
func runIngest(ctx context.Context, c *command, args []string) error {
	f := c.flags()
	limit := f.String("memory-limit", "", "the memory that the process may use (default 75 % of the machine's)")
	if err := c.parse(f, args); err != nil {
		return err
	}
	file, err := c.oneFile(f)
	if err != nil {
		return err
	}
	def, err := loadPipeline(file)
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
	if err := c.parse(f, args); err != nil {
		return err
	}
	file, err := c.oneFile(f)
	if err != nil {
		return err
	}
	def, err := loadPipeline(file)
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
	if err := c.parse(f, args); err != nil {
		return err
	}
	file, err := c.oneFile(f)
	if err != nil {
		return err
	}
	def, err := loadPipeline(file)
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
