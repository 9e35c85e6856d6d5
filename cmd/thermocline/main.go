// Command thermocline is the one binary: a server that follows MySQL databases
// into Apache Paimon tables and answers SQL over them, and the tools around it.
//
// This package parses flags, wires implementations together, runs and exits. It
// is the only one that knows every implementation. Start reading at commands,
// then wiring.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

// version is set by the build.
var version = "dev"

// command is one subcommand.
type command struct {
	name, args, short string
	run               func(ctx context.Context, c *command, args []string) error
}

func commands() []*command {
	return []*command{
		{"serve", "[flags]", "run the server: SQL over MySQL's protocol, pipelines, maintenance", serve},
		{"sql", "[flags] [FILE]", "run SQL statements in this process, without a server", runSQL},
		{"ingest", "[flags] FILE", "run one pipeline in the foreground", runIngest},
		{"verify", "[flags] FILE", "compare the tables of a pipeline with their source, and change nothing", runVerify},
		{"plan", "[flags] FILE", "show what a pipeline would do, and run nothing", runPlan},
		{"demo", "[flags]", "show the main job on a private MariaDB", runDemo},
		{"inspect", "PATH", "print a Paimon metadata or data file as JSON", runInspect},
		{"check-config", "FILE", "check a configuration file of serve", runCheckConfig},
		{"version", "", "print the version", runVersion},
	}
}

// errUsage ends the process with status 1 after usage was printed.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run runs one command and returns the process's status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return 1
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(os.Stdout)
		return 0
	case "--version", "-version":
		args[0] = "version"
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, c, args[1:])
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			return 1
		}
		fmt.Fprintf(stderr, "thermocline %s: %s\n", c.name, oneLine(err))
		return 1
	}
	fmt.Fprintf(stderr, "thermocline: there is no command %q; the commands are %s\n", args[0], strings.Join(names, ", "))
	return 1
}

// oneLine joins the lines of an error's text.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "Thermocline follows MySQL databases into Apache Paimon tables and answers SQL over them.\n\nUsage: thermocline COMMAND")
	fmt.Fprintln(w)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-32s %s\n", c.name+" "+c.args, c.short)
	}
	fmt.Fprintln(w, "\nthermocline COMMAND --help tells a command's flags.")
}

// flags makes the flag set of a command, whose errors are one line.
func (c *command) flags() *flag.FlagSet {
	f := flag.NewFlagSet(c.name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// parse parses args; --help prints the command's flags.
func (c *command) parse(f *flag.FlagSet, args []string) error {
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Printf("Usage: thermocline %s %s\n\n%s.\n\n", c.name, c.args, strings.ToUpper(c.short[:1])+c.short[1:])
		f.SetOutput(os.Stdout)
		f.PrintDefaults()
	}
	return err
}

// oneFile returns the only argument left.
func (c *command) oneFile(f *flag.FlagSet) (string, error) {
	if f.NArg() != 1 {
		return "", fmt.Errorf("give one file: thermocline %s %s", c.name, c.args)
	}
	return f.Arg(0), nil
}

func runVersion(_ context.Context, c *command, args []string) error {
	if err := c.parse(c.flags(), args); err != nil {
		return err
	}
	fmt.Printf("thermocline %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }
