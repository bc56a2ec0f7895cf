package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/catalog"
)

// generateMost bounds what is generated: a market of that size takes hours.
const generateMost = 100_000_000

func catalogGenerateCommand() *cobra.Command {
	in := catalog.Generation{}
	c := &cobra.Command{
		Use: "generate", Short: "Generate made-up companies and people", Args: noArgs,
		Long: "Generate a made-up market to try things with: every name is invented, every domain is reserved for examples. The same\n" +
			"seed gives the same companies and people, down to their ids: doing it again changes nothing, and larger numbers add to it.",
		Example: "  prospector catalog generate --companies 20000 --people-per-company 3",
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case in.Companies < 1:
				return usage("--companies must be at least 1, not %d", in.Companies)
			case in.PeoplePerCompany < 0:
				return usage("--people-per-company must be at least 0, not %d", in.PeoplePerCompany)
			case in.Companies > generateMost || in.PeoplePerCompany > generateMost/in.Companies:
				return usage("--companies and --people-per-company must make at most %d people", generateMost)
			}
			result, err := run(c, admin.GenerateCatalog, in)
			if err != nil {
				return err
			}
			err = show(c, result, func(w io.Writer) { showStats(w, result.Stats) })
			if err == nil && result.Failed != "" {
				err = fmt.Errorf("generating ended early: %s", result.Failed)
			}
			return err
		},
	}
	c.Flags().IntVar(&in.Companies, "companies", 1000, "how `many` companies there are to be")
	c.Flags().IntVar(&in.PeoplePerCompany, "people-per-company", 3, "how `many` people work at each")
	c.Flags().Uint64Var(&in.Seed, "seed", 1, "a `number`: another gives another market")
	return c
}

func catalogStatsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Count the companies and people", Args: noArgs,
		Long:    "Count the companies and people of the catalogue. A person without an employer names none, or one that the catalogue does\nnot have; no Preview shows them.",
		Example: "  prospector catalog stats",
		RunE: func(c *cobra.Command, _ []string) error {
			stats, err := run(c, admin.CatalogStats, struct{}{})
			if err != nil {
				return err
			}
			return show(c, stats, func(w io.Writer) { showStats(w, stats) })
		},
	}
}

func showStats(w io.Writer, s catalog.Stats) {
	fmt.Fprintf(w, "The catalogue has %d companies and %d people, %d of them without an employer\n", s.Companies, s.People, s.PeopleWithoutEmployer)
}
