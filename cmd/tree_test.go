package cmd

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands returns all commands of the program, by their path without the name of the program.
func commands() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		all[strings.TrimSpace(nameOf(c))] = c
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(rootCommand())
	return all
}

// TestCommandTree checks that every command exists and has a summary and an example.
func TestCommandTree(t *testing.T) {
	all := commands()
	for _, path := range []string{
		"", "serve", "demo", "init", "org", "org create", "org list", "org set", "org export", "org import", "org delete", "user", "user create", "user list", "user invite", "user set-password", "key", "key create", "key list",
		"key deactivate", "import", "import contacts", "import accounts", "import suppressions", "catalog", "catalog import", "catalog generate", "catalog stats", "backup", "restore", "resume", "check", "reindex", "completion", "version",
	} {
		if all[path] == nil {
			t.Errorf("command %q does not exist", path)
		}
	}
	for path, c := range all {
		t.Run(path, func(t *testing.T) {
			if c.Short == "" || strings.HasSuffix(c.Short, ".") || strings.Contains(c.Short, "\n") {
				t.Errorf("invalid summary %q", c.Short)
			}
			c.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Usage == "" {
					t.Errorf("--%s has no description", f.Name)
				}
			})
			if c.InheritedFlags().Lookup("json") == nil && c.PersistentFlags().Lookup("json") == nil {
				t.Error("the command has no --json")
			}
			if !c.HasSubCommands() {
				checkExample(t, c)
			}
		})
	}
}

var (
	exampleLine = regexp.MustCompile(`prospector( [^)|>]*)`) // the arguments of the program in a line
	exampleRuns = regexp.MustCompile(`\$\([^)]*\)`)          // the output of another program
	exampleWord = regexp.MustCompile(`"([^"]*)"|(\S+)`)
)

// checkExample checks that the command has an example, with valid flags and arguments.
func checkExample(t *testing.T, c *cobra.Command) {
	t.Helper()
	if c.Example == "" {
		t.Error("the command has no example")
	}
	for line := range strings.Lines(c.Example) {
		m := exampleLine.FindStringSubmatch(exampleRuns.ReplaceAllString(line, "x"))
		if !strings.HasPrefix(line, "  ") || m == nil {
			t.Errorf("the example %q does not run it", line)
			continue
		}
		var words []string
		for _, word := range exampleWord.FindAllStringSubmatch(m[1], -1) {
			words = append(words, word[1]+word[2])
		}
		found, rest, err := rootCommand().Find(words)
		if err == nil {
			err = found.ParseFlags(rest)
		}
		if err == nil {
			err = found.ValidateArgs(found.Flags().Args())
		}
		if err != nil || found.CommandPath() != c.CommandPath() {
			t.Errorf("the example %q runs %q: %v", line, found.CommandPath(), err)
		}
	}
}

// execute runs a command line in an empty directory and checks that it stays empty.
func execute(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	dir := t.TempDir()
	status = Execute(append([]string{"--data-dir", dir + "/data"}, args...), &out, &errs)
	if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
		t.Errorf("%q created %v (%v)", args, made, err)
	}
	return status, out.String(), errs.String()
}

// isUsage checks that a command line is a usage error, reported in one line that contains the text.
func isUsage(t *testing.T, says string, args ...string) {
	t.Helper()
	status, stdout, stderr := execute(t, args...)
	if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "prospector: ") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
		t.Errorf("%q exits with %d, stdout %q and stderr %q, want 2 and %q", args, status, stdout, stderr, says)
	}
}

// TestUsageOfEveryCommand checks that every command reports usage errors in the same way and has help.
func TestUsageOfEveryCommand(t *testing.T) {
	// The arguments and flags that commands require.
	arguments := map[string]string{
		"org export": "out.jsonl", "org import": "-", "key deactivate": "019f6f3e-0d4e-7c1e-9d0a-3a6c1c1f7b52", "import contacts": "-", "import accounts": "-", "import suppressions": "-",
		"backup": "out.backup", "restore": "out.backup", "completion": "bash",
	}
	flags := map[string][]string{
		"org create": {"name"}, "org set": {"org"}, "org export": {"org"}, "org delete": {"org"}, "user create": {"org", "email"}, "user list": {"org"}, "user invite": {"org", "email"}, "user set-password": {"org", "email"},
		"key create": {"org", "name"}, "key list": {"org"}, "key deactivate": {"org"}, "import contacts": {"org"}, "import accounts": {"org"}, "import suppressions": {"org"}, "erase": {"org", "email"},
	}
	all := commands()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		c, words := all[path], strings.Fields(path)
		t.Run(path, func(t *testing.T) {
			wrong := "unknown flag: --frobnicate"
			if c.HasSubCommands() {
				wrong = "missing subcommand" // its flags depend on the subcommand
			}
			isUsage(t, wrong+" (see '"+c.CommandPath()+" --help')", append(words, "--frobnicate")...)
			isUsage(t, "--json", append(words, "--json=perhaps")...)
			help, shown, stderr := execute(t, append([]string{"help"}, words...)...)
			if help != 0 || stderr != "" || !strings.Contains(shown, "Usage:\n  "+c.CommandPath()) || !strings.Contains(shown, "--json") || !strings.Contains(shown, c.Example) {
				t.Errorf("help exits with %d, stdout %q and stderr %q", help, shown, stderr)
			}
			if status, same, _ := execute(t, append(words, "--help")...); status != 0 || same != shown {
				t.Errorf("--help exits with %d and prints\n%s\nhelp prints\n%s", status, same, shown)
			}
			if c.HasSubCommands() {
				isUsage(t, "missing subcommand (see '"+c.CommandPath()+" --help')", words...)
				isUsage(t, `unknown command "`+strings.TrimSpace(path+" frobnicate")+`"`, append(words, "frobnicate")...)
				isUsage(t, `unknown command "`+strings.TrimSpace(path+" frobnicate")+`"`, append(words, "frobnicate", "more")...)
				return
			}
			if argument := arguments[path]; argument == "" {
				if path != "help" {
					isUsage(t, `takes no arguments, but "more" was given`, append(words, "more")...)
				}
			} else {
				isUsage(t, path+" requires one argument: ", words...)
				isUsage(t, path+" requires one argument: ", append(words, argument, "more")...)
				words = append(words, argument)
			}
			for i, missing := range flags[path] {
				given := words
				for _, flag := range flags[path][:i] {
					given = append(given, "--"+flag, "x")
				}
				isUsage(t, path+" requires --"+missing, given...)
				isUsage(t, path+" requires --"+missing, append(given, "--"+missing+"=")...)
				isUsage(t, "flag needs an argument: --"+missing, append(given, "--"+missing)...)
			}
			if c.Flags().Lookup("org") != nil && path != "org list" && path != "resume" && !slices.Contains(flags[path], "org") {
				t.Error("the command has --org, but the test does not list whether it is required")
			}
		})
	}
	isUsage(t, `unknown command "org frobnicate"`, "help", "org", "frobnicate")
	isUsage(t, `unknown command "frobnicate"`, "help", "frobnicate")
}
