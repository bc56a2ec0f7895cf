package cmd

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/service"
	"prospector/internal/shape"
)

func initCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "init", Short: "Create a settings file, an organization and its first user", Args: noArgs,
		Long: "Ask for an organization and its first user, create both, and write a settings file. The user is an admin. The\n" +
			"command prints a one-time link with which the user sets a password and signs in to the console. Flags answer\n" +
			"questions in advance.",
		Example: `  prospector init --organization "Acme Sales" --name "Ada Marsh" --email ada@acme.example --time-zone Europe/Berlin`,
		RunE:    runInit,
	}
	c.Flags().String("organization", "", "`name` of the organization")
	c.Flags().String("name", "", "first and last `name` of the user")
	c.Flags().String("email", "", "email `address` of the user")
	c.Flags().String("time-zone", "", "IANA time `zone` of the organization")
	c.Flags().String("addr", "", "`address` that the server listens on (default 127.0.0.1:8080)")
	c.Flags().String("output", "prospector.yaml", "settings `file` to write")
	return c
}

func runInit(c *cobra.Command, _ []string) error {
	cfg, err := loadConfig(c)
	if err != nil {
		return err
	}
	file, err := c.Flags().GetString("output")
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already (choose another file with --output)", file)
	}
	in, err := askInit(c)
	if err != nil {
		return err
	}
	done, err := run(c, admin.Init, in)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, initialSettings(cfg), 0o600); err != nil {
		return err
	}
	return show(c, done, func(w io.Writer) {
		fmt.Fprintf(w, "Created organization %q with the user %s, and wrote %s. Start the server:\n\n  prospector serve --config %s\n\n"+
			"Then set your password and sign in. The link is valid once, until %s:\n\n  %s\n",
			done.Organization.Name, done.User.Email, file, file, done.Link.ExpiresAt, done.Link.URL)
	})
}

// initialSettings returns a settings file with what differs from the defaults, or must be known to commands.
func initialSettings(cfg service.Config) []byte {
	return fmt.Appendf(nil, "# Settings of Prospector. config.example.yaml documents all of them.\naddr: %q\ndata_dir: %q\n", cfg.Addr, cfg.DataDir)
}

// askInit asks for what no flag gives. Without a terminal it reads the answers without asking.
func askInit(c *cobra.Command) (in admin.InitInput, err error) {
	input := bufio.NewReader(c.InOrStdin())
	asks := isTerminal(c.InOrStdin())
	answer := func(flag, question, usual, format string) (text string) {
		if err != nil {
			return ""
		}
		if text, err = c.Flags().GetString(flag); err != nil || text != "" {
			return text
		}
		for {
			if asks {
				fmt.Fprint(c.ErrOrStderr(), question, ": ")
			}
			text, failed := input.ReadString('\n')
			if failed != nil && failed != io.EOF {
				err = failed
			}
			if text = cmp.Or(strings.TrimSpace(text), usual); text == "" && err == nil {
				err = usage("init requires --%s, or an answer", flag)
			}
			problem := shape.CheckFormat(format, text)
			if err != nil || problem == nil || !asks {
				return text
			}
			fmt.Fprintln(c.ErrOrStderr(), problem) // and ask again
		}
	}
	org := answer("organization", "Organization", "", "")
	first, last, _ := strings.Cut(answer("name", "Your first and last name", "", ""), " ")
	email := answer("email", "Your email address", "", "email")
	zone := answer("time-zone", "Time zone, such as Europe/Berlin [UTC]", "UTC", "time_zone")
	in.Org = map[string]any{"name": org, "time_zone": zone}
	in.User = map[string]any{"email": email, "first_name": first, "last_name": strings.TrimSpace(last), "access": "admin"}
	return in, err
}
