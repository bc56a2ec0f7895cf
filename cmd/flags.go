package cmd

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// requires returns a check that runs before a command: the flags must be set.
func requires(flags ...string) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		for _, flag := range flags {
			v, err := c.Flags().GetString(flag)
			switch {
			case err != nil:
				return err
			case v == "":
				return usage("%srequires --%s", nameOf(c), flag)
			case !utf8.ValidString(v):
				return usage("--%s is not valid UTF-8", flag)
			}
		}
		return nil
	}
}

// orgFlag adds the flag that names an organization.
func orgFlag(c *cobra.Command, org *string) {
	c.Flags().StringVar(org, "org", "", "id or `name` of the organization")
}

// choices is the annotation of a flag with the values that it can have.
const choices = "choices"

// choiceFlag adds a flag that has one of some values, or is empty.
func choiceFlag(c *cobra.Command, into *string, name, usual, usage string, values ...string) {
	c.Flags().StringVar(into, name, usual, usage)
	limitFlag(c, name, values)
}

// limitFlag lets a flag have only some values, which the shell completes. checkChoices checks them.
func limitFlag(c *cobra.Command, name string, values []string) {
	_ = c.Flags().SetAnnotation(name, choices, values)
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// checkChoices returns an error if a flag of a command has a value that it cannot have.
func checkChoices(c *cobra.Command, _ []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		allowed := f.Annotations[choices]
		for _, value := range values {
			if err == nil && allowed != nil && value != "" {
				err = checkChoice(f.Name, value, allowed)
			}
		}
	})
	return err
}

// givenFields returns the flags that were set, as fields of a request body.
func givenFields(c *cobra.Command, flags ...string) (map[string]any, error) {
	fields := map[string]any{}
	for _, flag := range flags {
		v, _ := c.Flags().GetString(flag)
		if !utf8.ValidString(v) {
			return nil, usage("--%s is not valid UTF-8", flag)
		}
		if c.Flags().Changed(flag) {
			fields[strings.ReplaceAll(flag, "-", "_")] = v
		}
	}
	return fields, nil
}
