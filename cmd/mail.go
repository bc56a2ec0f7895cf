package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

func mailCommand() *cobra.Command {
	return group("mail", "Check the mail server", mailCheckCommand())
}

func mailCheckCommand() *cobra.Command {
	var in admin.MailCheckInput
	c := &cobra.Command{
		Use: "check", Short: "Connect to the mail server and log in, and send a test message", Args: noArgs,
		Long: "Connects to the mail server of the settings and logs in, and reports each stage. With --to it also sends\n" +
			"one message.",
		Example: "  prospector mail check\n  prospector mail check --to you@example.com",
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := run(c, admin.MailCheck, in)
			if err != nil {
				return err
			}
			err = show(c, r, func(w io.Writer) {
				for _, s := range r.Stages {
					result := "ok"
					if !s.OK {
						result = "failed"
					}
					fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%-10s %-7s %s", s.Stage, result, s.Detail)))
				}
			})
			if err == nil && !r.Stages[len(r.Stages)-1].OK {
				err = errors.New("the mail server cannot be used")
			}
			return err
		},
	}
	c.Flags().StringVar(&in.To, "to", "", "where to send a test message")
	return c
}
