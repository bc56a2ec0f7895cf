package cmd

import (
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
)

// completionCommand prints the completion script for each shell that cobra supports.
func completionCommand() *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	}
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print the completion script for a shell",
		Args: oneArg("bash, zsh, fish or powershell"), ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Example: "  source <(prospector completion bash)\n  prospector completion zsh > ~/.zfunc/_prospector",
		RunE: func(c *cobra.Command, args []string) error {
			print := shells[args[0]]
			if print == nil {
				return usage("%q is not one of: bash, zsh, fish, powershell", args[0])
			}
			return print(c.Root(), c.OutOrStdout())
		},
	}
}

// completeFlags registers the values of flags for completion, in a command and its subcommands.
func completeFlags(c *cobra.Command) {
	words := map[string][]string{
		"access":       {"read", "write", "admin"},
		"billing-mode": {"platform", "usage_based"},
	}
	for flag, values := range words {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if c.Flags().Lookup("org") != nil {
		_ = c.RegisterFlagCompletionFunc("org", completeOrg)
	}
	for _, sub := range c.Commands() {
		completeFlags(sub)
	}
}

// completeOrg completes the names of the organizations.
func completeOrg(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	result, err := run(c, admin.ListOrgs, admin.Input{})
	var names []cobra.Completion
	for _, o := range result.Organizations {
		names = append(names, o.Name)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
