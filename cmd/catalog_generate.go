package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/catalog"
)

// maxGenerated limits the size of a market. Generating it would take hours.
const maxGenerated = 100_000_000

func catalogGenerateCommand() *cobra.Command {
	in := catalog.Generation{}
	c := &cobra.Command{
		Use: "generate", Short: "Generate fictional companies and people", Args: noArgs,
		Long: "Generate a fictional market to experiment with. Every domain is reserved for examples. The same seed generates the\n" +
			"same companies and people with the same ids, so repeating the command changes nothing and larger numbers add to it.",
		Example: "  prospector catalog generate --companies 20000 --people-per-company 3",
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case in.Companies < 1:
				return usage("--companies must be at least 1, not %d", in.Companies)
			case in.PeoplePerCompany < 0:
				return usage("--people-per-company must be at least 0, not %d", in.PeoplePerCompany)
			case in.Companies > maxGenerated || in.PeoplePerCompany > maxGenerated/in.Companies:
				return usage("--companies and --people-per-company must make at most %d people", maxGenerated)
			}
			result, err := run(c, admin.GenerateCatalog, in)
			if err != nil {
				return err
			}
			err = show(c, result, func(w io.Writer) { showStats(w, result.Stats) })
			if err == nil && result.Failed != "" {
				err = fmt.Errorf("the market was not completed: %s", result.Failed)
			}
			return err
		},
	}
	c.Flags().IntVar(&in.Companies, "companies", 1000, "`number` of companies")
	c.Flags().IntVar(&in.PeoplePerCompany, "people-per-company", 3, "`number` of people at each company")
	c.Flags().Uint64Var(&in.Seed, "seed", 1, "`number` that selects a market")
	return c
}

func catalogStatsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Count the companies and people of the catalog", Args: noArgs,
		Long: "Count the companies and people of the catalog. People without an employer, or whose employer is not in the catalog, do\n" +
			"not appear in Previews.",
		Example: "  prospector catalog stats",
		RunE: func(c *cobra.Command, _ []string) error {
			return runAndShow(c, admin.CatalogStats, struct{}{}, showStats)
		},
	}
}

func showStats(w io.Writer, s catalog.Stats) {
	fmt.Fprintf(w, "The catalog has %d companies and %d people, %d of them without an employer\n", s.Companies, s.People, s.PeopleWithoutEmployer)
}
