from conformance.command import main

raise SystemExit(main())
