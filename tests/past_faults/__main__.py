from past_faults.command import main

raise SystemExit(main())
