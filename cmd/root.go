// Package cmd is the command line: commands, flags, and how results and errors are printed. What a
// command does is implemented in internal/service, internal/admin and internal/demo.
package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/service"
)

// The exit statuses.
const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is an invalid command line, as opposed to a command that failed.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// checkChoice returns an error if the value of a flag is not one of the choices.
func checkChoice(flag, value string, choices []string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return usage("--%s: %q is not one of: %s", flag, value, strings.Join(choices, ", "))
}

// Execute runs a command line and returns the exit status. An error is printed as one line on stderr.
func Execute(args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "prospector: "+admin.Message(err))
	var u usageError
	if errors.As(err, &u) {
		return exitUsage
	}
	return exitFailure
}

func rootCommand() *cobra.Command {
	root := group("prospector", "Sales prospecting and outreach on your own machine",
		serveCommand(), demoCommand(), initCommand(), orgCommand(), userCommand(), keyCommand(), importCommand(), catalogCommand(), mailCommand(),
		backupCommand(), restoreCommand(), resumeCommand(), checkCommand(), reindexCommand(), eraseCommand(), compactCommand(), completionCommand(), versionCommand())
	root.Version = service.Version()
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCommand())
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRunE = checkChoices
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%v (see '%s --help')", err, c.CommandPath())
	})
	f := root.PersistentFlags()
	f.String("config", "", "settings `file` (see config.example.yaml)")
	f.String("data-dir", "", "data `directory` (default ./data, for the demo ./demo-data)")
	f.Bool("json", false, "print one JSON object on stdout")
	completeFlags(root)
	return root
}

// helpCommand replaces cobra's, for which an unknown command is not an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			of, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage("unknown command %q (see 'prospector --help')", strings.Join(args, " "))
			}
			of.InitDefaultHelpFlag()
			of.InitDefaultVersionFlag()
			return of.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if of, _, err := c.Root().Find(args); err == nil {
				for _, sub := range of.Commands() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// group returns a command that only has subcommands.
func group(name, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short,
		Args:               cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // the flags of the missing subcommand
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q (see '%s --help')", nameOf(c)+args[0], c.CommandPath())
			}
			return usage("missing subcommand (see '%s --help')", c.CommandPath())
		},
	}
	c.AddCommand(subs...)
	return c
}

// nameOf returns the name of a command and a space. The name of the program, which every error line
// starts with, is left out.
func nameOf(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath()+" ", c.Root().Name()+" ")
}

// noArgs and oneArg replace cobra's, whose errors are not usage errors.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%stakes no arguments, but %q was given", nameOf(c), args[0])
	}
	return nil
}

func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usage("%srequires one argument: %s", nameOf(c), what)
		}
		return nil
	}
}

// show prints the result of a command, as JSON or with text. In a text, control characters other than line
// breaks are escaped, because stored text must not control the terminal.
func show(c *cobra.Command, result any, text func(w io.Writer)) error {
	asJSON, err := c.Flags().GetBool("json")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if asJSON {
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(result); err != nil {
			return err
		}
	} else {
		var plain bytes.Buffer
		text(&plain)
		for line := range strings.Lines(plain.String()) {
			line, broken := strings.CutSuffix(line, "\n")
			b.WriteString(escapeControls(line))
			if broken {
				b.WriteByte('\n')
			}
		}
	}
	_, err = c.OutOrStdout().Write(b.Bytes()) // a key that was not printed is lost, so this must fail
	return err
}

// table prints rows in columns under a heading. Each row is a line, whatever its cells contain.
func table[T any](w io.Writer, heading string, rows []T, cells func(T) []any) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, heading)
	for _, r := range rows {
		var line []string
		for _, cell := range cells(r) {
			line = append(line, escapeControls(fmt.Sprint(cell)))
		}
		fmt.Fprintln(tw, strings.Join(line, "\t"))
	}
	tw.Flush()
}

// escapeControls replaces control characters by their escapes in Go: \n, \x1b, \u009b.
func escapeControls(text string) string {
	if !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
