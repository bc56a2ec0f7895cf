package cmd

import (
	"io"

	"github.com/spf13/cobra"
)

// completionCommand prints a script that completes command lines, for each shell that cobra knows.
func completionCommand() *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	}
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print the completion script of a shell",
		Args: oneArg("bash, zsh, fish or powershell"), ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Example: "  source <(prospector completion bash)\n  prospector completion zsh > ~/.zfunc/_prospector",
		RunE: func(c *cobra.Command, args []string) error {
			print := shells[args[0]]
			if print == nil {
				return usage("completion knows bash, zsh, fish and powershell, not %q", args[0])
			}
			return print(c.Root(), c.OutOrStdout())
		},
	}
}
