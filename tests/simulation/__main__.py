from simulation.command import main

raise SystemExit(main())
